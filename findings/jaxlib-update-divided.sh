#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1, CPU: on an array divided over devices, dynamic_update_slice loses an update one element wide along the divided axis if
# its start index lies outside. StableHLO's specification of dynamic_update_slice clamps start indices, and so does the program without a
# division, the divided one with an update two wide, and dynamic_slice: [0, 0, 0, 1] of zeros, update 1 at 9. Over two devices the result
# is [0, 0, 0, 0]. It is enough that one sharding constraint divides the operand.
# usage: jaxlib-update-divided.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=2 "$d/venv/bin/python" - <<'PY'
import jax, numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
divided = NamedSharding(Mesh(np.array(jax.devices()), ("a",)), PartitionSpec("a"))
def update(x, u, k):
    return lax.dynamic_update_slice(x, u, (k,))
def update_divided(x, u, k):
    return update(lax.with_sharding_constraint(x, divided), u, k)
got = []
for n in (1, 2):
    for k in (3, 9, -9):
        args = np.zeros(4, np.int32), np.arange(1, n + 1, dtype=np.int32), np.int32(k)
        got.append([jax.jit(f)(*args).tolist() for f in (update, update_divided)])
        print(f"jax {jax.__version__}: update of {n} at {k}: {got[-1][0]}, divided {got[-1][1]}")
lost = [0, 0, 0, 0]
raise SystemExit([one == two for one, two in got] != [True, False, False, True, True, True] or [got[1][1], got[2][1]] != [lost, lost])
PY
