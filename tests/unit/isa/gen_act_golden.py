#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write tests/data/isa/act_golden.txt: activation functions, correctly rounded to fp32 by mpmath.

usage: gen_act_golden.py > tests/data/isa/act_golden.txt

Definitions are those of docs/isa.md, section 8.2. A line "func NAME" starts a function, the lines after it
are the bits of x and of the result. Zeros, infinities and NaN are not here: test_act.c names their results.
"""
import random
import struct

import mpmath as mp

mp.mp.prec = 400
COUNT = 220


def f32(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def round_f32(v: mp.mpf) -> int:
    """Bits of v rounded to nearest even, with gradual underflow and overflow to infinity."""
    sign = 0x80000000 if v < 0 else 0
    v = abs(v)
    if v == 0:
        return sign
    exponent = max(int(mp.floor(mp.log(v, 2))), -126)
    while v >= mp.mpf(2) ** (exponent + 1):
        exponent += 1
    while exponent > -126 and v < mp.mpf(2) ** exponent:
        exponent -= 1
    units = v * mp.mpf(2) ** (23 - exponent)
    down = int(mp.floor(units))
    rest = units - down
    if rest > 0.5 or (rest == 0.5 and down & 1):
        down += 1
    bits = down + ((exponent + 126) << 23)
    return sign | min(bits, 0x7F800000)


def sigmoid(x: mp.mpf) -> mp.mpf:
    return 1 / (1 + mp.exp(-x))


def softplus(x: mp.mpf) -> mp.mpf:
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def silu_dx(x: mp.mpf) -> mp.mpf:
    return sigmoid(x) * (1 + x * sigmoid(-x))


def hardware_sin(x: mp.mpf) -> mp.mpf:
    if abs(x) <= mp.pi:
        return mp.sin(x)
    d = abs(x) - mp.pi
    return mp.sign(x) * (d**3 / 6 - d)


FUNCTIONS = {
    "sigmoid": (sigmoid, True),
    "gelu": (lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2, True),
    "gelu_apprx_tanh": (
        lambda x: x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)), True),
    "gelu_apprx_sigmoid": (lambda x: x * sigmoid(mp.mpf("1.702") * x), True),
    "silu": (lambda x: x * sigmoid(x), True),
    "tanh": (mp.tanh, True),
    "softplus": (softplus, True),
    "mish": (lambda x: x * mp.tanh(softplus(x)), True),
    "erf": (mp.erf, True),
    "exp": (mp.exp, True),
    "log": (mp.log, False),
    "sin": (hardware_sin, True),
    "arctan": (mp.atan, True),
    "sqrt": (mp.sqrt, False),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), False),
    "reciprocal": (lambda x: 1 / x, True),
    "gelu_dx": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2 + x * mp.npdf(x), True),
    "gelu_apprx_sigmoid_dx": (lambda x: silu_dx(mp.mpf("1.702") * x), True),
    "silu_dx": (lambda x: silu_dx(x), True),
    "erf_dx": (lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), True),
}
# Around the zeros of the derivatives, where the difference of what they consist of has few digits
ZEROS = {"gelu_dx": 0x3F407569, "gelu_apprx_sigmoid_dx": 0x3F404BA5, "silu_dx": 0x3FA3A4BA}
EDGES = [1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x3F800000, 0x3F7FFFFF, 0x3F800001, 0x40490FDA, 0x40490FDB,
         0x40490FDC, 0x3FC90FDB, 0x41100000, 0x42AEAC4F, 0x42AEAC50, 0x42B17218, 0x42CFF1B5, 0x3B800000]


def inputs(rng: random.Random, negative: bool) -> list[int]:
    xs = list(EDGES)
    for i in range(COUNT - len(xs)):
        if i % 4 == 0:  # any exponent
            xs.append(rng.randrange(1, 0x7F800000))
        elif i % 4 == 1:  # around 1
            xs.append(struct.unpack("<I", struct.pack("<f", rng.uniform(0.01, 4)))[0])
        else:  # where the functions bend, and their tails
            xs.append(struct.unpack("<I", struct.pack("<f", rng.uniform(0, 110) ** rng.choice([0.5, 1])))[0])
    return xs + [x | 0x80000000 for x in xs] if negative else xs


def main() -> None:
    rng = random.Random(7)
    print("# Written by tests/unit/isa/gen_act_golden.py (mpmath " + mp.__version__ + "); bits of x, bits of y")
    for name, (function, negative) in FUNCTIONS.items():
        print(f"func {name}")
        xs = inputs(rng, negative)
        if name in ZEROS:
            xs += [0x80000000 | (ZEROS[name] + (1 << k) * s) for k in range(19) for s in (-1, 1)]
            xs += [0x80000000 | ZEROS[name]]
        for x in xs:
            value = mp.mpf(f32(x))
            # beyond +-1000 the exponentials are limits; spare mpmath their digits
            if abs(value) > 1000 and name not in ("log", "sin", "arctan", "sqrt", "rsqrt", "reciprocal"):
                value = mp.sign(value) * 1000
                y = limit(name, mp.mpf(f32(x)), value, function)
            else:
                y = round_f32(function(value))
            print(f"{x:08x} {y:08x}")


def limit(name: str, x: mp.mpf, clamped: mp.mpf, function) -> int:
    if name in ("sigmoid", "tanh", "erf", "erf_dx"):
        return round_f32(function(clamped))
    if name == "exp":
        return 0x7F800000 if x > 0 else 0
    if x > 0:
        return 0x3F800000 if name.endswith("_dx") else round_f32(x)
    return 0 if name == "softplus" else 0x80000000


if __name__ == "__main__":
    main()
