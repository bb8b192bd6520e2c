#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write modules whose arrays are divided among devices, and what XLA's own partitioner makes of each.

NAME.mlir is the text that JAX lowers a program to, NAME.txt what XLA's CPU executable of the same program
has: the parts of arguments and results that a device has, and how many bytes of a value are passed
between devices (an all-reduce's twice, as it is a reduce-scatter and an all-gather). `make.py NAME...`
makes only those.
"""

import os
import pathlib
import re
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8}
TIMES = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1, "all-to-all": 1, "collective-permute": 1}
LINE = Mesh(np.array(jax.devices()[:4]), ("a",))
GRID = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("a", "b"))
TURNED = Mesh(np.array(jax.devices()[:4])[[2, 0, 3, 1]], ("a",))


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def s32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def on(mesh, *axes):
    return NamedSharding(mesh, PartitionSpec(*axes))


def elementwise(x, y):
    return jnp.tanh(x) * y + 1


def product(x, w):
    return jnp.tanh(x @ w)


def contracted(x, w):
    return x @ w


def reductions(x):
    return x.sum(0), x.max(), jnp.any(x > 1, 1), x.prod(0)


def loss(w, x, y):
    hidden = jax.nn.gelu(x @ w["in"] + w["bias"])
    chosen = jnp.take_along_axis(jax.nn.log_softmax(hidden @ w["out"]), y[:, None], 1)
    return -jnp.mean(chosen)


def step(w, x, y):
    value, gradient = jax.value_and_grad(loss)(w, x, y)
    return jax.tree.map(lambda a, b: a - 0.1 * b, w, gradient), value


def rows(table, i, gradient):
    return table[i], jnp.zeros_like(table).at[i].add(gradient)


def layers(w, x):
    return jax.lax.scan(lambda h, one: (jnp.tanh(h @ one), h.sum()), x, w)


def image(k, x):
    y = jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(jax.nn.relu(y), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def image_gradient(k, x):
    return jax.grad(lambda k: image(k, x).sum())(k)


def dropout(seed, x):
    keep = jax.random.bernoulli(jax.random.wrap_key_data(seed), 0.5, x.shape)
    return jnp.where(keep, x, 0)


def constrained(x):
    return jax.lax.with_sharding_constraint(x * 2, on(GRID, None, "b")).sum(0)


WEIGHTS = {"in": f32(16, 32), "bias": f32(32), "out": f32(32, 16)}
WHOLE = dict.fromkeys(WEIGHTS, on(LINE))
PARTS = dict.fromkeys(WEIGHTS, on(LINE, "a"))
A = on(LINE, "a")
W = on(LINE)
# a function, its arguments, their shardings, those of its results (None: XLA's choice)
PROGRAMS = {
    "elementwise": (elementwise, (f32(8, 4), f32(8, 4)), (A, W), None),
    "product": (product, (f32(8, 4), f32(4, 6)), (A, W), A),
    "contracted": (contracted, (f32(4, 16), f32(16, 8)), (on(LINE, None, "a"), A), W),
    "reductions": (reductions, (f32(8, 8),), (on(GRID, "a", "b"),), None),
    "data_parallel": (step, (WEIGHTS, f32(16, 16), s32(16)), (WHOLE, A, A), (WHOLE, W)),
    "fully_sharded": (step, (WEIGHTS, f32(16, 16), s32(16)), (PARTS, A, A), (PARTS, W)),
    "rows": (rows, (f32(32, 8), s32(16), f32(16, 8)), (W, A, A), (A, W)),
    "layers": (layers, (f32(3, 16, 16), f32(8, 16)), (W, A), (A, W)),
    "image": (image, (f32(3, 3, 4, 8), f32(8, 8, 8, 4)), (W, A), A),
    "image_gradient": (image_gradient, (f32(3, 3, 4, 8), f32(8, 8, 8, 4)), (W, A), W),
    "dropout": (dropout, (jax.ShapeDtypeStruct((2,), jnp.uint32), f32(16, 8)), (W, A), A),
    "constrained": (constrained, (f32(8, 8),), (on(GRID, "a"),), None),
    "turned": (contracted, (f32(8, 8), f32(8, 8)), (on(TURNED, "a"), on(TURNED)), on(TURNED, "a")),
    "transposed": (lambda x: x.T + 1, (f32(8, 8),), (A,), A),
}


def bytes_of(shape):
    return sum(SIZES[kind] * int(np.prod([int(d) for d in dims.split(",") if d]))
               for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", shape) if kind in SIZES)


def passed(text):
    """Bytes of what goes into all-reduce and its like, and comes out of all-gather"""
    total = 0
    shapes = dict(re.findall(r"%?([\w.-]+) = (\(?[\w\[\],{}: ()]*?\)?) [\w-]+\(", text))
    for result, kind, operands in re.findall(r"= (\(?[\w\[\],{}: ()]*?\)?) ([\w-]+?)(?:-start)?\(([^)]*)\)", text):
        if kind in TIMES:
            names = re.findall(r"%([\w.-]+)", operands)
            into = sum(bytes_of(shapes.get(n, "")) for n in names)
            total += TIMES[kind] * (bytes_of(result) if kind == "all-gather" else into)
    return total


def main():
    for name in sys.argv[1:] or PROGRAMS:
        function, args, ins, outs = PROGRAMS[name]
        how = {} if outs is None else {"out_shardings": outs}
        lowered = jax.jit(function, in_shardings=ins, **how).lower(*args)
        (HERE / f"{name}.mlir").write_text(lowered.as_text())
        text = lowered.compile().as_text()
        layout = re.search(r"entry_computation_layout={(.*?)->(.*)", text).groups()
        lines = [f"{which} {kind} {dims.replace(',', ' ')}".rstrip() for which, part in zip(("in", "out"), layout)
                 for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]{", part.replace("]", "]{"))]
        (HERE / f"{name}.txt").write_text("\n".join([*lines, f"bytes {passed(text)}"]) + "\n")


if __name__ == "__main__":
    main()
