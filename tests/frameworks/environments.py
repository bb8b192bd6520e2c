# SPDX-License-Identifier: MIT
"""Environments with a version of JAX or PyTorch from PyPI, each made once and kept in the cache.

Nothing is written into one later: who uses it sets PYTHONPYCACHEPREFIX, and installs elsewhere what is to be tested.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import stand_ins

OLDEST = (3, 10)  # that the wheel takes
TORCH, TORCH_XLA = "2.9.1", "2.9.0"
TORCH_NATIVE, TORCH_MLIR = "2.15.0", "20261001"  # of torch.compile(backend="neuron")
# what they import, and of the libraries for other chips the small ones that are called as they are loaded
TORCH_IMPORTS = ("filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "numpy", "setuptools", "sympy", "typing_extensions")
TORCH_NEEDS = (*TORCH_IMPORTS, "nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-cupti-cu12==12.8.90", "absl-py", "pyyaml", "requests", "certifi",
               "charset-normalizer", "idna", "urllib3")
TORCH_NATIVE_NEEDS = (*TORCH_IMPORTS, "nvidia-cuda-runtime==13.2.86", "nvidia-cuda-cupti==13.2.86", "ml_dtypes", "packaging")
# what is laid beside an environment for those who ask: the last transformers that each torch is met with, and what it imports
_HUB = ("regex", "safetensors", "tqdm", "packaging", "pyyaml", "fsspec")
ADDITIONS = {
    "transformers-4.57.1": ("transformers==4.57.1", "huggingface-hub==0.36.0", "tokenizers==0.22.1", *_HUB),
    "transformers-5.24.0": ("transformers==5.24.0", "huggingface-hub==1.31.0", "tokenizers==0.23.1", "httpx", "httpcore", "h11", "anyio", "idna", "certifi", "typer",
                            "click", *_HUB),
    "onnx": ("onnx==1.23.2", "onnxruntime==1.31.1", "onnxscript", "onnx-ir", "protobuf", "ml_dtypes", "flatbuffers", "packaging"),
}
EXPORT = ("flatbuffers", "absl-py")  # what jax.export imports, and JAX does not require


class Unavailable(Exception):
    """There is no such environment here; the text says why."""


def cache() -> Path:
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("NEURON_CACHE") or home / "neuron-emulator") / "frameworks"


def pythons() -> dict[tuple[int, ...], str]:
    """The Pythons of this machine by version, pyenv's and the system's, oldest first"""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    chosen = os.environ.get("PYTHON")
    paths = [chosen] if chosen else [*sorted(map(str, root.glob("versions/3.*/bin/python3"))), "/usr/bin/python3"]
    found = {}
    for path in paths:
        done = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found.setdefault(tuple(map(int, done.stdout.split())), path)
    return {version: found[version] for version in sorted(found) if version >= OLDEST}


def lean(site: Path) -> None:
    """Takes out what no program needs, a fourth of it all: tests of NumPy and SciPy, types and headers, symbols for debuggers"""
    for package in ("numpy", "scipy"):
        for path in [path for path in (site / package).glob("**/tests/*") if path.name == "data" or path.name.startswith("test_")]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in [path for ending in ("pyi", "h", "a") for path in site.glob(f"**/*.{ending}")]:
        if site / "torch/include" not in path.parents:  # which inductor compiles with
            path.unlink()
    for library in (path for path in (site / "jaxlib").glob("*.so") if path.stat().st_size > 100 << 20):
        subprocess.run(["strip", "--strip-unneeded", library], check=False)


def pip(python: str) -> list[str] | None:
    """A pip that installs into other environments (22.3 and later): that Python's own, which is of its age, or the newest one's"""
    for owner in (python, *reversed(pythons().values())):
        done = subprocess.run([owner, "-m", "pip", "--version"], capture_output=True, text=True, check=False)
        version = re.match(r"pip (\d+)\.(\d+)", done.stdout)
        if version and tuple(map(int, version.groups())) >= (22, 3):
            return [owner, "-m", "pip"]
    return None


def install(home: Path, python: str, packages: list[str]) -> str | None:
    """Makes the environment; None, or what pip said"""
    tool = pip(python)
    if tool is None:
        raise Unavailable("no pip here installs into other environments (22.3)")
    new = home.with_name(f"{home.name}.{os.getpid()}")
    new.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-m", "venv", "--without-pip", new], check=True)
    done = subprocess.run([*tool, f"--python={new / 'bin/python'}", "install", "--quiet", "--no-compile", "--only-binary=:all:", *packages],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(new)
        return done.stderr.strip()
    lean(next(new.glob("lib/python3.*/site-packages")))
    try:
        new.rename(home)
    except OSError:  # somebody else has made it meanwhile
        shutil.rmtree(new)
    return None


def reason(said: str, name: str) -> str:
    """Why there is no environment, of what pip said; another failure is an error"""
    if "from versions: none" in said:
        return "PyPI is not reached"
    if "No matching distribution" in said:
        return f"no Python here has {name}"
    raise RuntimeError(said)


def made(prefix: str, name: str, packages: list[str], *, newest_python: bool) -> Path:
    """An environment's folder, of the oldest Python here that has the packages, or of the newest"""
    why = "there is no Python from 3.10 on"
    for number, python in sorted(pythons().items(), reverse=newest_python):
        home = cache() / f"{prefix}-py{number[0]}.{number[1]}"
        said = None if home.exists() else install(home, python, packages)
        if said is None:
            return home
        why = reason(said, name)
    raise Unavailable(why)


def environment(version: str, *, newest_python: bool = False) -> Path:
    """The Python of an environment with this JAX"""
    packages = [f"jax=={version}", f"jaxlib=={version}", *EXPORT]
    return made(f"jax-{version}", f"JAX {version}", packages, newest_python=newest_python) / "bin/python"


def addition_there(python: Path, name: str) -> Path:
    """Where addition() lays a row of ADDITIONS, or has"""
    number = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return cache() / f"{name}-py{number}"


def addition(python: Path, name: str) -> Path:
    """A folder for the PYTHONPATH of an environment's Python, with a row of ADDITIONS; the environment stays as it is"""
    home = addition_there(python, name)
    if home.exists():
        return home
    tool = pip(str(python))
    if tool is None:
        raise Unavailable("no pip here installs for other environments (22.3)")
    new = home.with_name(f"{home.name}.{os.getpid()}")
    done = subprocess.run([*tool, f"--python={python}", "install", "--quiet", "--no-compile", "--only-binary=:all:", "--no-deps", "--target", new, *ADDITIONS[name]],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(new, ignore_errors=True)
        raise Unavailable(reason(done.stderr.strip(), name))
    try:
        new.rename(home)
    except OSError:  # somebody else has made it meanwhile
        shutil.rmtree(new)
    return home


def torch_xla() -> tuple[Path, dict[str, str]]:
    """The Python of an environment with the last torch_xla, and the variables that its torch needs to be loaded"""
    return _with_torch(TORCH, [f"torch_xla=={TORCH_XLA}", *TORCH_NEEDS])


def torch_native() -> tuple[Path, dict[str, str]]:
    """The same with the newest torch, and torch-mlir"""
    return _with_torch(TORCH_NATIVE, [f"torch-mlir=={TORCH_MLIR}", *TORCH_NATIVE_NEEDS])


def _with_torch(version: str, needs: list[str]) -> tuple[Path, dict[str, str]]:
    home = made(f"torch-{version}", f"torch {version}", ["--no-deps", f"torch=={version}", *needs], newest_python=True)
    site = next(home.glob("lib/python3.*/site-packages"))
    if not (home / "stand-ins").exists():
        making = home / f"stand-ins.{os.getpid()}"
        stand_ins.make(site / "torch/lib", making)
        for library in (path.name for path in site.glob("nvidia/*/lib/*.so*")):
            (making / library).unlink(missing_ok=True)
        making.rename(home / "stand-ins")
    return home / "bin/python", {"LD_LIBRARY_PATH": ":".join(map(str, [home / "stand-ins", *site.glob("nvidia/*/lib")]))}
