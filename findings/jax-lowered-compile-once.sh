#!/bin/sh
# SPDX-License-Identifier: MIT
# JAX 0.12.0.1, and 0.4.38 to 0.11.2 alike: compile() of one Lowered compiles once; a second call gives another Compiled with the first one's executable, and no
# compilation event is recorded. Whoever takes the least of several compile() times of one Lowered measures the first and then none;
# the same function lowered again compiles again.
# usage: jax-lowered-compile-once.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu "$d/venv/bin/python" - <<'PY'
import jax, jax.monitoring
events = []
jax.monitoring.register_event_duration_secs_listener(lambda name, seconds, **more: events.append(name))
def compilations():
    return sum("backend_compile" in name for name in events)
function = jax.jit(lambda x: x + 1)
lowered = function.lower(1.0)
first, one = lowered.compile(), compilations()
second, two = lowered.compile(), compilations()
jax.clear_caches()
jax.jit(lambda x: x + 1).lower(1.0).compile()
print(f"jax {jax.__version__}: compilations after one call of compile() {one}, after two {two}, lowered anew {compilations()}; "
      f"one object: {first is second}, one executable: {first._executable is second._executable}")
raise SystemExit((one, two, compilations(), first is second, first._executable is second._executable) != (1, 1, 2, False, True))
PY
