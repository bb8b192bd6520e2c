#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What the device "neuron" keeps on disk of what it lowers and compiles: used by later processes, not believed when spoilt, bounded. As TAP.

usage: torch_cache.py [POINT...]    in an environment of environments.torch_native(), with the wheel
"""

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from points import run_points

# prints what was computed, whether something was lowered, how many programs were compiled, and what was said
PROGRAM = """
import json, warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import torch
    from torch_neuronx import eager, lowering, programs, registration
    registration.register()
    compiled, compile_module = [], programs.compile_module
    programs.compile_module = lambda *given: compiled.append(1) or compile_module(*given)
    x = torch.arange(12.0, device="neuron").view(3, 4)
    y, places = (x * 0.5 - 1).sort(1, descending=True)
    results = [(x + 1).tolist(), (x @ x.T).tolist(), y.tolist(), places.tolist(), x.relu_().sum(0).tolist(), x[:, [2, 0]].tolist(), x.cpu().tolist()]
    if GRAPH:
        results.append(torch.compile(lambda x: torch.tanh(x) @ x.T, backend="neuron")(x * 0.1).tolist())
print(json.dumps({"results": results, "lowered": lowering._passes.process is not None, "compiled": len(compiled), "host": list(eager.fallen_back),
                  "said": [str(w.message) for w in said if "kept" in str(w.message) or "NEFF" in str(w.message)]}))
"""


def begun(environ: dict[str, str], graph: bool = False) -> subprocess.Popen:
    base = {name: value for name, value in os.environ.items() if not name.startswith("TORCH_NEURONX_NEFF")}
    return subprocess.Popen([sys.executable, "-c", PROGRAM.replace("GRAPH", str(graph))], env={**base, **environ}, stdout=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen) -> dict:
    text, _ = process.communicate()
    assert process.returncode == 0, process.returncode
    return json.loads(text.splitlines()[-1])


def ran(environ: dict[str, str], graph: bool = False) -> dict:
    return ended(begun(environ, graph))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def expected() -> list:
    import torch

    x = torch.arange(12.0).view(3, 4)
    y, places = (x * 0.5 - 1).sort(1, descending=True)
    return [(x + 1).tolist(), (x @ x.T).tolist(), y.tolist(), places.tolist(), x.sum(0).tolist(), x[:, [2, 0]].tolist(), x.tolist()]


def later_processes() -> None:
    """A second process lowers and compiles nothing, and computes the same; a compiled function is lowered again, but not compiled"""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (ran({"TORCH_NEURONX_NEFF_CACHE_DIR": folder}) for _ in range(2))
        assert first["results"] == second["results"] == expected(), (first, second)
        assert first["lowered"] and first["compiled"] and not second["lowered"] and not second["compiled"] and not second["host"], (first, second)
        names = [path.relative_to(folder).parts for path in files(Path(folder))]
        assert all(len(name) == 3 and name[2].startswith(name[0] + name[1]) and name[2].endswith((".neff", ".json")) for name in names), names
        graph, again = (ran({"TORCH_NEURONX_NEFF_CACHE_DIR": folder}, True) for _ in range(2))
        assert graph["compiled"] and again["lowered"] and not again["compiled"] and graph["results"] == again["results"], (graph, again)


def at_once() -> None:
    """Processes that write the same entries at the same time"""
    with tempfile.TemporaryDirectory() as folder:
        running = [begun({"TORCH_NEURONX_NEFF_CACHE_DIR": folder}) for _ in range(2)]
        assert all(ended(process)["results"] == expected() for process in running)
        assert not [path for path in files(Path(folder)) if path.name.startswith(".")]
        assert not ran({"TORCH_NEURONX_NEFF_CACHE_DIR": folder})["lowered"]


def spoilt() -> None:
    """Files that are cut off, changed, empty, or none are made anew"""
    with tempfile.TemporaryDirectory() as folder:
        there = {"TORCH_NEURONX_NEFF_CACHE_DIR": folder}
        ran(there)
        for number, path in enumerate(files(Path(folder))):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0x55
            if number % 4 == 3:
                path.unlink()
                os.mkfifo(path)
            else:
                path.write_bytes([data, data[:len(data) // 3], b""][number % 4])
        for _ in range(2):
            found = ran(there)
            assert found["results"] == expected() and found["host"] == [], found
        neffs = [path for path in files(Path(folder)) if path.suffix == ".neff"]
        for path in neffs:
            data = bytearray(path.read_bytes())
            data[-len(data) // 4] ^= 0x55
            path.write_bytes(data)
        found, after = ran(there), ran(there)
        assert found["results"] == after["results"] == expected() and not found["lowered"] and found["compiled"] == len(neffs) and not after["compiled"], (found, after)


def places() -> None:
    """The user's own folder is the default, and is not believed if others may write to it; nothing is kept if that is asked for, or cannot be"""
    with tempfile.TemporaryDirectory() as folder:
        own = {"NEURON_CACHE": folder}
        ran(own)
        home = Path(folder) / "neff"
        assert files(home) and stat.S_IMODE(home.stat().st_mode) == 0o700, home.stat()
        home.chmod(0o777)
        assert ran(own)["lowered"]
        home.chmod(0o700)
        assert not ran(own)["lowered"] and ran({**own, "TORCH_NEURONX_NEFF_DISABLE_CACHE": "1"})["lowered"]
        blocked = Path(folder) / "a file"
        blocked.write_text("")
        found = ran({"TORCH_NEURONX_NEFF_CACHE_DIR": str(blocked)})
        assert found["results"] == expected() and len(found["said"]) == 1 and "a file" in found["said"][0], found
    found = ran({"TORCH_NEURONX_NEFF_DISABLE_CACHE": "1"})
    assert found["results"] == expected() and found["lowered"]


def bounded() -> None:
    """What was not used for longest goes; files of others stay; a bound that is no number is named"""
    with tempfile.TemporaryDirectory() as folder:
        there = {"TORCH_NEURONX_NEFF_CACHE_DIR": folder}
        ran(there)
        other = Path(folder) / "ab/cd/notes.txt"
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("mine")
        before = files(Path(folder))
        for path in before:
            os.utime(path, (1, 1))
        total = sum(path.stat().st_size for path in before)
        found = ran({**there, "TORCH_NEURONX_NEFF_CACHE_BYTES": str(total // 2)}, True)  # one more is compiled: its program is the first that is written
        kept = [path for path in before if path.exists()]
        assert found["results"][:7] == expected() and other in kept and len(kept) < len(before), (found, kept)
        found = ran({**there, "TORCH_NEURONX_NEFF_CACHE_BYTES": "1G"})
        assert not found["said"] or "1G" in found["said"][0], found


POINTS = {"a later process lowers and compiles nothing": later_processes, "processes that write at once": at_once, "spoilt entries": spoilt,
          "where entries are kept": places, "a bound": bounded}

if __name__ == "__main__":
    run_points(POINTS)
