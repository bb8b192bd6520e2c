# SPDX-License-Identifier: MIT
"""What the plug-in asks whether the user has interrupted the program, while it compiles.

Python handles signals between two steps of its own, in its first thread. The plug-in, which has that thread meanwhile, has it
look by these functions of Python's. Where a handler raises, it ends the compilation and sends SIGINT again, which Python then
raises as KeyboardInterrupt where the program was.
"""

from __future__ import annotations

import ctypes

NAMES = ("PyGILState_Ensure", "PyErr_CheckSignals", "PyErr_Clear", "PyGILState_Release")


def addresses() -> list[int]:
    """The addresses of Python's functions, for the plug-in's option python_signals"""
    return [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in NAMES]
