# SPDX-License-Identifier: MIT
"""Programs of make.py's own: whole steps of training, and what only a program of StableHLO has"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclasses.dataclass
class Program:
    name: str
    fn: object  # a function, or the program's text
    args: tuple = ()
    version: str | None = None
    refused: str | None = None
    exported: bool = False
    jit: dict = dataclasses.field(default_factory=dict)


def shape(dtype):
    return lambda *dims: jax.ShapeDtypeStruct(dims, dtype)


f32, s32, u32, bf16, pred = map(shape, (jnp.float32, jnp.int32, jnp.uint32, jnp.bfloat16, jnp.bool_))


def adam(loss):
    def step(p, m, v, t, *batch):
        value, grads = jax.value_and_grad(loss)(p, *batch)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / norm), grads)
        t = t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, grads)
        p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8) - 1e-5 * p, p, m, v)
        return p, m, v, t, value

    return step


def mlp_loss(p, x, y):
    for w, b in p[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = p[-1]
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ w + b) * jax.nn.one_hot(y, 10), -1))


def transformer_loss(heads):
    def norm(x, g):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6) * g

    @jax.checkpoint
    def layer(x, p):
        batch, length, width = x.shape
        h = norm(x, p["g"])
        q, k, v = [(h @ p[n]).reshape(batch, length, heads, -1).transpose(0, 2, 1, 3) for n in "qkv"]
        s = jnp.where(jnp.tril(jnp.ones((length, length), bool)), q @ k.swapaxes(-1, -2) * 0.2, -1e9)
        x = x + (jax.nn.softmax(s) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ p["o"]
        return x + jax.nn.gelu(norm(x, p["g"]) @ p["u"]) @ p["d"]

    def loss(p, tokens, key):
        x = p["e"][tokens]
        for weights in p["l"]:
            x = layer(x, weights)
            key, own = jax.random.split(key)
            x = jnp.where(jax.random.bernoulli(own, 0.9, x.shape), x / 0.9, 0)
        logits = jax.nn.log_softmax(x @ p["e"].T)[:, :-1]
        return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], -1))

    return loss


def transformer(layers, width, length, batch, words):
    weights = {n: f32(width, width) for n in "qkvo"} | {"g": f32(width), "u": f32(width, 4 * width), "d": f32(4 * width, width)}
    p = {"e": f32(words, width), "l": [weights] * layers}
    return adam(transformer_loss(4)), (p, p, p, f32(), s32(batch, length), u32(2))


def cnn_loss(p, x, y):
    conv = lambda x, w, s: lax.conv_general_dilated(x, w, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.nn.relu(conv(x, p["a"], 1))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(conv(x, p["b"], 2))
    x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean((x.reshape(x.shape[0], -1) @ p["w"] - y) ** 2)


@jax.custom_vjp
def sine(x):
    return jnp.sin(x)


sine.defvjp(lambda x: (sine(x), jnp.cos(x)), lambda cos, g: (g * cos * 2,))


def versioned(x, w, k):
    y = lax.fori_loop(0, 3, lambda i, v: jnp.tanh(v @ w) + i, x)
    z = lax.cond(k[0] > 0, lambda: y.sum(0), lambda: y.max(0))
    image = lax.conv_general_dilated(y[None, :, :, None], jnp.ones((3, 3, 1, 2)), (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y, z, jnp.sort(y, axis=0), y[k], y.at[k].add(1.0), image, lax.reduce_window(y, 0.0, lax.add, (2, 2), (1, 1), "VALID")


def flow(n, x):
    """loops and branches that use values from around them, several deep"""
    y = x * 2

    def inner(i, v):
        return lax.cond(i % 2 == 0, lambda: v + y, lambda: v * x)

    many = lax.fori_loop(0, 3, lambda i, v: v + lax.fori_loop(0, 2, inner, v), x)
    return many, lax.switch(n, [lambda: x + y, lambda: y, lambda: jnp.zeros_like(x)]), lax.while_loop(
        lambda s: s[0] < 4.0, lambda s: s * 2, y[:1] ** 2 + 0.5)


def donated(a, b, c):
    d, e = jax.jit(lambda a, b: (b, a))(a, b)
    return a + b, d, e, lax.optimization_barrier(c), a.astype(jnp.float32), c * 2


CALLS_ITSELF = """func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = func.call @main(%a) : (tensor<4xf32>) ->
tensor<4xf32> return %0 : tensor<4xf32> }"""
OUTER = """func.func public @main(%a: tensor<4x5xf32>, %b: tensor<f32>) -> tensor<4xf32> {
%c = stablehlo.constant dense<2.0> : tensor<f32>
%0 = "stablehlo.reduce"(%a, %c) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32>
%t = stablehlo.multiply %s, WHICH : tensor<f32> stablehlo.return %t : tensor<f32> }) {dimensions = array<i64: 1>} :
(tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32> return %0 : tensor<4xf32> }"""
TEXTS = {
    "grown": """%0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<4x1xf32>) -> tensor<4x3x5xf32>
return %0 : tensor<4x3x5xf32>""",
    "one_condition": """%c = stablehlo.constant dense<true> : tensor<i1> %n = stablehlo.negate %a : tensor<4x1xf32>
%0 = stablehlo.select %c, %n, %a : tensor<i1>, tensor<4x1xf32> return %0 : tensor<4x1xf32>""",
    "shape_known": """%s = stablehlo.constant dense<[4, 5]> : tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] : (tensor<4x1xf32>, tensor<2xi32>) -> tensor<4x5xf32>
return %0 : tensor<4x5xf32>""",
    "branches": """%c = stablehlo.constant dense<1.5> : tensor<f32> %z = stablehlo.constant dense<0.0> : tensor<f32>
%r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<f32>
%p = stablehlo.compare GT, %r, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
%0 = "stablehlo.if"(%p) ({ stablehlo.return %a : tensor<4x1xf32> }, { %m = stablehlo.constant dense<3.0> : tensor<4x1xf32>
stablehlo.return %m : tensor<4x1xf32> }) : (tensor<i1>) -> tensor<4x1xf32> return %0 : tensor<4x1xf32>""",
    "loop_outer": """%z = stablehlo.constant dense<0> : tensor<i32> %n = stablehlo.constant dense<3> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32> %m = stablehlo.multiply %a, %a : tensor<4x1xf32>
%0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<4x1xf32> cond {
%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %c : tensor<i1> } do {
%j = stablehlo.add %i, %one : tensor<i32> %w = stablehlo.add %v, %m : tensor<4x1xf32>
stablehlo.return %j, %w : tensor<i32>, tensor<4x1xf32> } return %0#1 : tensor<4x1xf32>""",
    "tuples": """%t = stablehlo.tuple %a, %a : tuple<tensor<4x1xf32>, tensor<4x1xf32>>
%0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4x1xf32>, tensor<4x1xf32>>) -> tensor<4x1xf32> return %0 : tensor<4x1xf32>""",
    "reals": """%0 = stablehlo.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf64>
%1 = stablehlo.convert %0 : (tensor<4x1xf64>) -> tensor<4x1xf32> %2 = stablehlo.add %a, %1 : tensor<4x1xf32>
return %2 : tensor<4x1xf32>""",
}
REFUSED = {
    "all_reduce": ("""%0 = "stablehlo.all_reduce"(%a) ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y :
tensor<f32> stablehlo.return %s : tensor<f32> }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} :
(tensor<4x1xf32>) -> tensor<4x1xf32> return %0 : tensor<4x1xf32>""", "all-reduce 'all-reduce."),
    "einsum": ("""%0 = stablehlo.einsum %a, %a, config = "...j,...j->...j" : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
return %0 : tensor<4x1xf32>""", "only letters, each once for an operand, are supported"),
    "own_target": ("""%0 = stablehlo.custom_call @mine(%a) : (tensor<4x1xf32>) -> tensor<4x1xf32>
return %0 : tensor<4x1xf32>""", "(target 'mine')"),
    "quantized": ("""%0 = stablehlo.uniform_quantize %a : (tensor<4x1xf32>) -> tensor<4x1x!quant.uniform<i8:f32, 0.5:3>>
%2 = "stablehlo.sort"(%0) ({ ^bb0(%x: tensor<!quant.uniform<i8:f32, 0.5:3>>, %y: tensor<!quant.uniform<i8:f32, 0.5:3>>):
%p = stablehlo.compare LT, %x, %y : (tensor<!quant.uniform<i8:f32, 0.5:3>>, tensor<!quant.uniform<i8:f32, 0.5:3>>) -> tensor<i1>
stablehlo.return %p : tensor<i1> }) : (tensor<4x1x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4x1x!quant.uniform<i8:f32, 0.5:3>>
%1 = stablehlo.uniform_dequantize %2 : (tensor<4x1x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<4x1xf32>
return %1 : tensor<4x1xf32>""", "of a quantized type: only moves of one for the whole tensor"),
    "any_size": ("""%s = stablehlo.constant dense<[4, 5]> : tensor<2xi32> %0 = stablehlo.dynamic_broadcast_in_dim %a, %s,
dims = [0, 1] : (tensor<4x1xf32>, tensor<2xi32>) -> tensor<?x5xf32> %1 = stablehlo.slice %0 [0:1, 0:5] :
(tensor<?x5xf32>) -> tensor<1x5xf32> return %1 : tensor<1x5xf32>""", "a result whose shape is computed"),
}


def wrapped(body):
    result = body.rsplit(":", 1)[1].strip()
    return f"func.func public @main(%a: tensor<4x1xf32>) -> {result} {{ {body} }}"


def training():
    sizes = [30, 20, 10]
    p = [(f32(a, b), f32(b)) for a, b in zip(sizes, sizes[1:])]
    yield Program("mlp_step", adam(mlp_loss), (p, p, p, f32(), f32(6, 30), s32(6)), jit={"donate_argnums": (0, 1, 2, 3)})
    yield Program("transformer_step", *transformer(1, 16, 8, 2, 40), jit={"donate_argnums": (0, 1, 2, 3)})
    p = {"a": f32(3, 3, 3, 4), "b": f32(3, 3, 4, 6), "w": f32(12, 5)}
    yield Program("cnn_step", adam(cnn_loss), (p, p, p, f32(), f32(2, 16, 8, 3), f32(2, 5)))
    yield Program("scan_grad", lambda w, x: jax.grad(lambda w: lax.scan(
        lambda c, i: (jnp.tanh(c @ w + i), c.sum()), x[0], x)[1].sum())(w), (f32(8, 8), f32(5, 3, 8)))
    yield Program("cond_grad", lambda p, x: jax.grad(lambda x: lax.cond(
        p, lambda v: (v * v).sum(), lambda v: jnp.sin(v).sum(), x))(x), (pred(), f32(8)))
    yield Program("custom_vjp", lambda x: jax.grad(lambda x: sine(x).sum())(x), (f32(9),))


def functions():
    key = u32(2)
    yield Program("threefry", lambda k: (jax.random.normal(k, (4, 33)), jax.random.bits(k, (7,)), jax.random.permutation(k, 16)), (key,))
    yield Program("rbg", lambda k: lax.rng_bit_generator(k, (4, 5)), (u32(4),))
    yield Program("key", lambda s: jax.random.normal(jax.random.key(s), (3,)), (u32(),))
    yield Program("composites", lambda x: (lax.erf(x), jnp.sinh(x), jnp.arctanh(x), jnp.arcsinh(x), lax.erf_inv(x), lax.top_k(x, 5)),
                  (f32(4, 16),))
    yield Program("approximate", lambda x: (lax.approx_max_k(x, 3), lax.approx_min_k(x.T, 2, reduction_dimension=0)), (f32(4, 16),))
    yield Program("small_types", lambda x: (x.astype(jnp.float8_e4m3fn).astype(jnp.float32), x.astype(jnp.bfloat16) * 2,
                                            x.astype(jnp.float16) + jnp.float16(0.1)), (f32(9),))
    yield Program("truths", lambda x: (x & jnp.array([True, False] * 40), jnp.array([True] * 3 + [False] * 2), ~x,
                                       jnp.full((70,), True)), (pred(80),))
    yield Program("identity", lambda x: x, (f32(3),))
    yield Program("no_input", lambda: jnp.arange(5))
    yield Program("flow", flow, (s32(), f32(6)))
    yield Program("linear", lambda a, b: (jnp.linalg.qr(a), jnp.linalg.solve(a, b), jnp.linalg.det(a)), (f32(5, 5), f32(5, 2)))


def devices():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("x",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    one = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
    spec = jax.sharding.PartitionSpec
    yield Program("donors.parts", lambda a, b: a + b, (f32(8, 3), f32(8, 3)), jit={"donate_argnums": (0,), "in_shardings": (rows, rows)})
    yield Program("constraint.parts", lambda x: lax.with_sharding_constraint(x * 2, rows) + 1, (f32(8, 4),))
    yield Program("one_device", jax.shard_map(
        lambda x: jnp.sin(x) * 2, mesh=one, in_specs=spec("x"), out_specs=spec("x")), (f32(8, 4),))
    yield Program("shard_map.parts", jax.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=spec("x"), out_specs=spec()),
                  (f32(8, 4),))


def all_programs():
    yield Program("donated", donated, (f32(4, 3), f32(4, 3), s32(7)), jit={"donate_argnums": (1, 2)})
    yield Program("donated_one", lambda a, b: a + b, (f32(4, 3), f32(4, 3)), jit={"donate_argnums": (1,)})
    yield from training()
    yield from functions()
    yield from devices()
    for v in ("0.9.0", "0.12.0", "0.14.0", "0.15.0", "0.20.0", "1.0.0", "1.5.0", "1.10.0", "1.22.0"):
        yield Program(f"version_{v.replace('.', '_')}", versioned, (f32(8, 8), f32(8, 8), s32(4)), version=v)
    for name, body in TEXTS.items():
        yield Program(name, wrapped(body))
    yield Program("outer_constant", OUTER.replace("WHICH", "%c"))
    yield Program("outer_value.refused", OUTER.replace("WHICH", "%b"), refused="a value from outside of the region")
    yield Program("calls_itself.refused", CALLS_ITSELF, refused="the function 'main' calls itself")
    for name, (body, text) in REFUSED.items():
        yield Program(f"{name}.refused", wrapped(body), refused=text)
    yield Program("exported", lambda x, y: jnp.tanh(x) @ y, (f32(4, 6), f32(6, 3)), exported=True)


def programs():
    return {p.name: p for p in all_programs()}
