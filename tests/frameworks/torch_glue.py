#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The device "neuron" with what PyTorch takes from C++ alone (torch_neuronx/glue.cpp), which this builds: several indices, generators, storages. As TAP.

usage: torch_glue.py --build DIRECTORY [POINT...]    in an environment of environments.torch_native(), with the wheel

Without a C++ compiler, or with a torch that has no headers, it is skipped. The build beside the wheel has neuron-emud.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from points import run_points
from torch_comparisons import near, raises

HERE = Path(__file__).resolve().parent


def indices() -> None:
    """A training on each core, and what is current"""
    for place in range(2):
        x = torch.ones(3, device=f"neuron:{place}", requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.device == torch.device("neuron", place) and x.grad.tolist() == [2, 2, 2]
    with torch.device("neuron:1"):
        assert torch.zeros(2).device.index == 1
    torch.accelerator.set_device_index(1)
    assert torch.neuron.current_device() == torch.ones(1, device="neuron").device.index == 1
    torch.neuron.set_device(0)
    assert torch.accelerator.current_device_index() == 0 and torch.accelerator.device_count() == torch.neuron.device_count() == 2
    near(torch.ones(3, device="neuron:0").to("neuron:1").cpu(), torch.ones(3))
    raises(RuntimeError, "two devices, neuron:0 and neuron:1", lambda: torch.ones(2, device="neuron:0") + torch.ones(2, device="neuron:1"))
    raises(RuntimeError, "neuron:7: this process has the NeuronCores 0 to 1", lambda: torch.ones(2, device="neuron:7"))


def generators() -> None:
    """A generator of the device's draws what the CPU's of its seed does, and goes on where it was"""
    ours, theirs = torch.Generator("neuron").manual_seed(3), torch.Generator().manual_seed(3)
    for _ in range(2):
        near(torch.rand(3, device="neuron", generator=ours).cpu(), torch.rand(3, generator=theirs))
        near(torch.empty(4, device="neuron").normal_(generator=ours).cpu(), torch.empty(4).normal_(generator=theirs))
    assert ours.device.type == "neuron" and ours.get_state().equal(theirs.get_state())


def storages() -> None:
    """Storages are made, grow and shrink; memory and what torch.accelerator says of it"""
    before = torch.neuron.memory_allocated()
    storage = torch.UntypedStorage(1 << 20, device="neuron:0")
    assert torch.neuron.memory_allocated() == torch.accelerator.memory_allocated() == before + (1 << 20)
    storage.resize_(0)
    assert torch.neuron.memory_allocated() == before and storage.nbytes() == 0
    x = torch.arange(4.0, device="neuron")
    x.untyped_storage().resize_(32)
    assert x.tolist() == [0, 1, 2, 3] and x.untyped_storage().nbytes() == 32
    torch.accelerator.synchronize()
    torch.accelerator.empty_cache()
    assert torch.ones(3).pin_memory().is_pinned()
    first, last = (torch.Event(device="neuron", enable_timing=True) for _ in range(2))
    first.record()
    last.record()
    assert first.elapsed_time(last) >= 0 and last.query()


def again(build: str, program: str) -> None:
    """Another program's points with it"""
    done = subprocess.run([sys.executable, HERE / program, *(["--build", build] if program == "torch_processes.py" else [])], stdout=subprocess.PIPE, text=True,
                          check=False)
    wrong = [line for line in done.stdout.splitlines() if line.startswith(("not ok", "#"))]
    assert done.returncode == 0, "\n".join(wrong)


def main() -> None:
    build = sys.argv.pop(sys.argv.index("--build") + 1)
    sys.argv.remove("--build")
    headers = Path(torch.__file__).parent / "include/ATen/ATen.h"
    if missing := "no C++ compiler" if not shutil.which(os.environ.get("CXX", "g++")) else "no headers in this torch" if not headers.exists() else "":
        print(f"1..0 # skip glue: {missing}")
        return
    if "NEURON_GLUE_MADE" not in os.environ:  # it is registered as torch is imported
        with tempfile.TemporaryDirectory() as cache:
            environ = {**os.environ, "NEURON_CACHE": cache, "NEURON_GLUE_MADE": "1"}
            subprocess.run([sys.executable, "-m", "torch_neuronx", "glue"], env=environ, stdout=sys.stderr, cwd=cache, check=True)
            sys.exit(subprocess.run([sys.executable, __file__, "--build", build, *sys.argv[1:]], env=environ, check=False).returncode)
    run_points({"indices": indices, "generators": generators, "storages": storages, "operators and trainings": lambda: again(build, "torch_device.py"),
                "usage": lambda: again(build, "torch_usage.py"), "processes": lambda: again(build, "torch_processes.py")})


if __name__ == "__main__":
    main()
