# SPDX-License-Identifier: MIT
"""What users see of programs: ranges in torch.profiler, and files of what is compiled.

TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS=1 keeps each program's graph, StableHLO and NEFF, in TORCH_NEURONX_DEBUG_DIR.
"""

import contextlib
import itertools
import os
from pathlib import Path

import torch

_numbers = itertools.count()
_NOTHING = contextlib.nullcontext()


def executed(name: str) -> contextlib.AbstractContextManager:
    """For the time of a program's execution, which profilers show by this name"""
    return torch._C._profiler._RecordFunctionFast(name) if torch.autograd.profiler._is_profiler_enabled else _NOTHING


class Kept:
    """Where the files of a program are kept, if the user asked for that"""

    def __init__(self, name: str) -> None:
        asked = os.environ.get("TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS", "0") not in ("", "0")
        self.home = Path(os.environ.get("TORCH_NEURONX_DEBUG_DIR") or "/tmp/neuron_backend") if asked else None
        self.name = f"{os.getpid()}_{next(_numbers)}_{name.rpartition('::')[2]}"

    def write(self, folder: str, ending: str, content: str | bytes) -> None:
        if self.home:
            (self.home / folder).mkdir(parents=True, exist_ok=True)
            (self.home / folder / f"{self.name}.{ending}").write_bytes(content.encode() if isinstance(content, str) else content)
