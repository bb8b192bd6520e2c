#!/bin/sh
# SPDX-License-Identifier: MIT
# jaxlib 0.12.0.1, CPU: the maximum or minimum of an array divided over devices loses NaN, and with it whatever else its device holds:
# over two devices the maximum of 0, 1, 2, 3, 4, NaN, 6, 7 is 3. Each device's own reduction is NaN; the all-reduce of the two takes the
# other for the larger. StableHLO's specification has all_reduce apply its computation, here maximum, which of NaN is NaN, and the
# undivided array's maximum is NaN; so is the divided one's sum.
# usage: jaxlib-max-divided.sh [PYTHON >= 3.12]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install jax==0.12.0.1 jaxlib==0.12.0.1
JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=2 "$d/venv/bin/python" - <<'PY'
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
divided = NamedSharding(Mesh(np.array(jax.devices()), ("a",)), PartitionSpec("a"))
got = []
for at in 2, 5:
    x = np.arange(8, dtype=np.float32)
    x[at] = np.nan
    for f in jnp.max, jnp.min, jnp.sum:
        got.append([float(jax.jit(f)(x)), float(jax.jit(f, in_shardings=divided)(x))])
        print(f"jax {jax.__version__}: {f.__name__} with NaN at {at}: {got[-1][0]}, divided {got[-1][1]}")
whole, parts = np.array(got).T
raise SystemExit(not np.isnan(whole).all() or str(parts.tolist()) != "[7.0, 4.0, nan, 3.0, 0.0, nan]")
PY
