# SPDX-License-Identifier: MIT
"""Golden modules of random bits; make.py makes them. What JAX does not write is in NumPy (philox.py)."""

import math
from typing import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from philox import MOST, normal, own, passes, philox, threefry, unit

ALGORITHMS = {"default": lax.RandomAlgorithm.RNG_DEFAULT, "three_fry": lax.RandomAlgorithm.RNG_THREE_FRY,
              "philox": lax.RandomAlgorithm.RNG_PHILOX}


def counted(first: int, blocks: int, words: int):
    """The counters of blocks as words, and the one after them"""
    top = 2**(32 * words)
    numbers = [(first + i) % top for i in range(blocks + 1)]
    split = np.array([[n >> 32 * w & MOST for w in range(words)] for n in numbers], np.uint64)
    return split[:-1].T, split[-1]


def generated(algorithm: str, words: int):
    """What rng_text's module computes: of a state in u32, the new state and so many words in their order"""
    def fn(state):
        s = [int(w) for w in state.ravel()]
        if algorithm == "PHILOX":
            counter = s[2:] + s[:4 - len(s[2:])]  # a state of two numbers has its key there
            c, last = counted(sum(w << 32 * i for i, w in enumerate(counter)), -(-words // 4), 4)
            bits = np.stack(philox(s[:2], c), 1)
        else:
            c, last = counted(s[2] | s[3] << 32, -(-words // 2), 2)
            bits = np.stack(threefry(s[:2], c), 1)
        after = np.array(s[:2] + [int(w) for w in last[: len(s) - 2]], np.uint32).reshape(state.shape)
        return after, bits.astype(np.uint32).reshape(-1)[:words].reshape(-1, 2)
    return fn


def of_floats(a, b):
    """What the module rng_floats computes"""
    x = passes(unit(own("rng_floats", 0, 20000)), lambda v: v, 0.5, 1 / 12) * (b - a) + a
    h = (unit(own("rng_floats", 1, 15)) * np.float32(3) - np.float32(1)).astype(np.float16)
    return x.reshape(100, 200), np.where(h == 2, np.float16(-1), h).reshape(3, 5)


def of_integers(a, b):
    words = [own("rng_integers", i, n).astype(np.uint64) for i, n in enumerate((20000, 33, 40, 12))]
    passes((words[0] * 6 >> np.uint64(32)) + unit(own("dice", 0, 20000)), lambda v: v / 6, 3, 3)
    span = int(b) - int(a)
    return ((words[0] * np.uint64(span) >> np.uint64(32)).astype(np.int64) + int(a)).astype(np.int32), \
        (words[1] * np.uint64(MOST) >> np.uint64(32)).astype(np.uint32), ((words[2] * np.uint64(255) >> np.uint64(32)).astype(np.int64) - 128).astype(np.int8), \
        (words[3] * np.uint64(60000) >> np.uint64(32)).astype(np.uint16) + np.uint16(5)


def of_normals(a, b):
    z = normal(own("rng_normals", 0, 20000))
    passes(z, lambda v: 0.5 * (1 + math.erf(v / 2**0.5)), 0, 1)
    y = normal(own("rng_normals", 1, 8))[:7]
    return (z * b + a).astype(np.float32).reshape(100, 200), y.astype(np.float32)


def own_text(name: str, outs: tuple[tuple[str, str, str, str], ...], arg: str) -> str:
    """rng of each type and shape, between these numbers; the first one's are the parameters"""
    body, results, types = [], [], []
    for i, (how, kind, low, high) in enumerate(outs):
        dims, t = kind.split("x")[:-1], kind.split("x")[-1]
        body += [f"%s{i} = stablehlo.constant dense<[{', '.join(dims)}]> : tensor<{len(dims)}xi64>"]
        body += [f"%{c}{i} = stablehlo.constant dense<{v}> : tensor<{t}>" for c, v in (("a", low), ("b", high)) if v]
        a, b = (f"%a{i}", f"%b{i}") if low else ("%a", "%b")
        body += [f'%r{i} = "stablehlo.rng"({a}, {b}, %s{i}) <{{rng_distribution = #stablehlo<rng_distribution {how}>}}> : '
                 f"(tensor<{t}>, tensor<{t}>, tensor<{len(dims)}xi64>) -> tensor<{kind}>"]
        results, types = results + [f"%r{i}"], types + [f"tensor<{kind}>"]
    return f"""module @{name} {{ func.func public @main(%a: tensor<{arg}>, %b: tensor<{arg}>) -> ({", ".join(types)}) {{
      {chr(10).join(body)}
      return {", ".join(results)} : {", ".join(types)} }} }}"""


def rng_text(algorithm: str, state: int, n: int) -> str:
    """n 64-bit integers, as halves"""
    return f"""func.func public @main(%a: tensor<{state}x2xui32>) -> (tensor<{state}x2xui32>, tensor<{n}x2xui32>) {{
      %s = stablehlo.bitcast_convert %a : (tensor<{state}x2xui32>) -> tensor<{state}xui64>
      %t, %u = "stablehlo.rng_bit_generator"(%s) <{{rng_algorithm = #stablehlo<rng_algorithm {algorithm}>}}> :
        (tensor<{state}xui64>) -> (tensor<{state}xui64>, tensor<{n}xui64>)
      %b = stablehlo.bitcast_convert %t : (tensor<{state}xui64>) -> tensor<{state}x2xui32>
      %c = stablehlo.bitcast_convert %u : (tensor<{n}xui64>) -> tensor<{n}x2xui32>
      return %b, %c : tensor<{state}x2xui32>, tensor<{n}x2xui32> }}"""


def chain(algorithm):
    """Bits of all types, each call with the state that the one before left"""
    def fn(state):
        outs = []
        for dtype, shape in ((np.uint8, (5, 3)), (np.uint16, (7, 9, 5)), (np.uint32, ()), (np.uint32, (3, 6)), (np.uint8, (8,)),
                             (np.uint32, (1001,))):
            state, bits = lax.rng_bit_generator(state, shape, dtype=dtype, algorithm=algorithm)
            outs += [state, bits]
        return outs
    return fn


def many(algorithm, *shape):
    """A few of many bits, and the sum of all"""
    def fn(state):
        state, bits = lax.rng_bit_generator(state, shape, algorithm=algorithm)
        return state, bits.reshape(-1)[::4099], jnp.sum(bits), jnp.sum(bits >> 16)
    return fn


def add(case: Callable[..., None]) -> None:
    state = lambda d: d.ints(np.uint32, 4)
    key = lambda k: jax.random.wrap_key_data(k, impl="rbg")
    for name, algorithm in ALGORITHMS.items():
        case(f"rng_bits_{name}", chain(algorithm), state)
        case(f"rng_many_{name}", many(algorithm, 263, 521), state)
        case(f"rng_carry_{name}", lambda a, b, algorithm=algorithm: [lax.rng_bit_generator(s, (9,), algorithm=algorithm) for s in (a, b)],
             lambda d: (np.array([3, MOST, MOST - 1, 5], np.uint32), np.array([MOST, 9, MOST, MOST], np.uint32)))
    # more than 2^18 blocks are made in parts
    case("rng_parts_three_fry", many(ALGORITHMS["three_fry"], 1001, 731), state)
    case("rng_parts_philox", many(ALGORITHMS["philox"], 2**20 + 5), state)
    case("rng_key", lambda k, p: (jax.random.bits(key(k), (3, 50)), jax.random.uniform(key(k), (40,)), jax.random.bernoulli(key(k), 0.3, (6, 30)),
         jax.random.randint(key(k), (40,), -5, 1000), jax.random.permutation(key(k), p), jax.random.key_data(jax.random.split(key(k), 3)),
         jax.random.key_data(jax.random.fold_in(key(k), 77)), jax.random.bits(key(k), (5,), np.uint8)), lambda d: (state(d), d.ints(np.int32, 33)))
    case("rng_normal", lambda k: (jax.random.normal(key(k), (40, 30)), jax.random.gumbel(key(k), (6, 9))), state, ulps=16)


def add_written(cases: dict[str, tuple]) -> None:
    """64-bit integers, and a state of three, whose counter overflows"""
    wide = lambda *words: lambda d: (np.array(words, np.uint32).reshape(-1, 2),)
    for name, algorithm, n, words in (("three_fry", "THREE_FRY", 7, (1, 2, MOST - 2, 4)), ("philox", "PHILOX", 7, (1, 2, MOST, 4)),
                                      ("state", "PHILOX", 10, (5, 6, MOST - 1, MOST, MOST, 3))):
        cases[f"rng_wide_{name}"] = (generated(algorithm, 2 * n), wide(*words), 0.0, False, rng_text(algorithm, len(words) // 2, n))
    pair = lambda dtype, a, b: lambda d: (np.array(a, dtype), np.array(b, dtype))
    cases["rng_floats"] = (of_floats, pair(np.float32, -2, 5), 0.0, False,
                           own_text("rng_floats", (("UNIFORM", "100x200xf32", "", ""), ("UNIFORM", "3x5xf16", "-1.0", "2.0")), "f32"))
    cases["rng_integers"] = (of_integers, pair(np.int32, -2000000000, 2000000000), 0.0, False,
                             own_text("rng_integers", (("UNIFORM", "20000xi32", "", ""), ("UNIFORM", "33xui32", "0", f"{MOST}"),
                                                       ("UNIFORM", "40xi8", "-128", "127"), ("UNIFORM", "12xui16", "5", "60005")), "i32"))
    cases["rng_normals"] = (of_normals, pair(np.float32, 3, 0.5), 32, False,
                            own_text("rng_normals", (("NORMAL", "100x200xf32", "", ""), ("NORMAL", "7xf32", "0.0", "1.0")), "f32"))
