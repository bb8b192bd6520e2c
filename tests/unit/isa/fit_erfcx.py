#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Coefficients of qemu-device/core/exec/exec_kernels_math.h's erfcx and erf, and of the derivatives about their zeros, as C.

Chebyshev interpolation in 60-digit arithmetic (mpmath), turned into powers of the variable, rounded to
double; the relative error of the rounded polynomials is printed beside them.
"""
import mpmath as mp

mp.mp.dps = 60
Z_MAX, C = mp.mpf(12), mp.mpf(2)


def interpolate(f, lo: mp.mpf, hi: mp.mpf, degree: int) -> list[float]:
    """Powers-of-x coefficients, lowest first, of the Chebyshev interpolant on [lo, hi]."""
    n = degree + 1
    xs = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    a = mp.matrix(n, n)
    b = mp.matrix(n, 1)
    for i, x in enumerate(xs):
        for j in range(n):
            a[i, j] = x**j
        b[i] = f(x)
    return [float(c) for c in mp.lu_solve(a, b)]


def horner(c: list[float], x: float) -> float:
    r = c[-1]
    for k in reversed(c[:-1]):
        r = r * x + k
    return r


def erfcx(z: mp.mpf) -> mp.mpf:
    return mp.exp(z * z) * mp.erfc(z)


def show(name: str, c: list[float], worst: float) -> None:
    print(f"/* {name}: relative error at most {worst:.1e} */")
    for k in c:
        print(f"\t{k.hex()},")


def sigmoid(x: mp.mpf) -> mp.mpf:
    return 1 / (1 + mp.exp(-x))


def silu_dx(x: mp.mpf) -> mp.mpf:
    return sigmoid(x) * (1 + x * sigmoid(-x))


def zeros() -> None:
    """The zeros of a derivative, in two doubles, and its Taylor series there, without the constant."""
    for name, f, near in (
        ("gelu_dx", lambda x: mp.ncdf(x) + x * mp.npdf(x), -0.75),
        ("silu_dx", silu_dx, -1.28),
        ("gelu_apprx_sigmoid_dx", lambda x: silu_dx(mp.mpf("1.702") * x), -0.75),
    ):
        x = mp.findroot(f, mp.mpf(near))
        high = float(x)
        print(f"/* {name}: {high.hex()} and {float(x - high).hex()} */")
        for c in mp.taylor(f, x, 8)[1:]:
            print(f"\t{float(c).hex()},")


def main() -> None:
    lo, hi = mp.mpf(-1), (Z_MAX - C) / (Z_MAX + C)

    def in_t(t: mp.mpf) -> mp.mpf:
        z = C * (1 + t) / (1 - t)
        return (1 + 2 * z) * erfcx(z)

    c = interpolate(in_t, lo, hi, 18)
    worst = 0.0
    for i in range(2001):
        z = i * 12.0 / 2000
        got = horner(c, (z - 2.0) / (z + 2.0)) / (1 + 2 * z)
        worst = max(worst, abs(float(mp.mpf(got) / erfcx(mp.mpf(z)) - 1)))
    show("(1 + 2z) erfcx(z) in t = (z - 2) / (z + 2), 0 <= z <= 12", c, worst)

    def over_x(s: mp.mpf) -> mp.mpf:
        x = mp.sqrt(s)
        return mp.erf(x) / x if x else 2 / mp.sqrt(mp.pi)

    c = interpolate(over_x, mp.mpf(0), mp.mpf(1), 9)
    worst = 0.0
    for i in range(1, 2001):
        x = i / 2000
        worst = max(worst, abs(float(mp.mpf(horner(c, x * x) * x) / mp.erf(x) - 1)))
    show("erf(x) / x in x * x, 0 <= x <= 1", c, worst)
    zeros()


if __name__ == "__main__":
    main()
