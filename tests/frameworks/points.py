# SPDX-License-Identifier: MIT
"""Points of a test by their names, each a function that raises if it fails. As TAP."""

import sys
import traceback
from collections.abc import Callable


def run_points(points: dict[str, Callable[[], None]]) -> None:
    """Runs those of which a word of the command line is a part of the name, or all, and ends the process"""
    chosen = {name: point for name, point in points.items() if not sys.argv[1:] or any(word in name for word in sys.argv[1:])}
    failed = False
    for number, (name, point) in enumerate(chosen.items(), 1):
        try:
            point()
            print(f"ok {number} - {name}", flush=True)
        except Exception:  # a point that fails is one, whatever it raises
            failed = True
            print(f"not ok {number} - {name}", *(f"# {line}" for line in traceback.format_exc().splitlines()), sep="\n", flush=True)
    print(f"1..{len(chosen)}")
    sys.exit(failed)
