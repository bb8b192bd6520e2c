# SPDX-License-Identifier: MIT
"""Functions that are not networks: solvers, filters, simulations, orders, moves."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from layers import Network, Weights


def kmeans(small: bool) -> Network:
    """Five iterations on clusters that lie apart"""
    w = Weights(401)
    points, n, clusters = (30, 3, 3) if small else (4000, 32, 16)
    centres = 4 * w.normal(clusters, n)
    x = centres[w.rng.integers(0, clusters, points)] + 0.5 * w.normal(points, n)

    def fn(_: Any, x: jax.Array, centres: jax.Array) -> Any:
        for _ in range(5):
            far = jnp.sum(jnp.square(centres), -1) - 2 * x @ centres.T
            which = jnp.argmin(far, -1)
            count = jax.ops.segment_sum(jnp.ones(points, x.dtype), which, clusters)
            centres = jax.ops.segment_sum(x, which, clusters) / jnp.maximum(count, 1)[:, None]
        return centres, which.astype(jnp.int32)

    return Network(fn, {}, (x.astype(np.float32), (centres + 0.3 * w.normal(clusters, n)).astype(np.float32)))


def gaussian_process(small: bool) -> Network:
    """Regression: a Cholesky factor and triangular solves"""
    w = Weights(402)
    points, tests = (8, 3) if small else (160, 40)

    def kernel(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.exp(-jnp.sum(jnp.square(x[:, None] - y[None]), -1) / 2)

    def fn(_: Any, x: jax.Array, y: jax.Array, at: jax.Array) -> Any:
        factor = jnp.linalg.cholesky(kernel(x, x) + 0.3 * jnp.eye(points, dtype=x.dtype))
        half = lax.linalg.triangular_solve(factor, y[:, None], left_side=True, lower=True)
        cross = lax.linalg.triangular_solve(factor, kernel(x, at), left_side=True, lower=True)
        return (cross.T @ half)[:, 0], 1 - jnp.sum(jnp.square(cross), 0)

    return Network(fn, {}, (w.normal(points, 3), w.normal(points), w.normal(tests, 3)))


def kalman(small: bool) -> Network:
    """A body in a plane, its place observed: means and covariances of many steps"""
    w = Weights(403)
    steps = 6 if small else 200
    move = np.eye(4, dtype=np.float32) + 0.1 * np.eye(4, k=2, dtype=np.float32)

    def fn(_: Any, seen: jax.Array) -> Any:
        f, h = move.astype(seen.dtype), np.eye(2, 4).astype(seen.dtype)

        def step(state: Any, z: jax.Array) -> Any:
            x, p = state
            x, p = f @ x, f @ p @ f.T + 0.01 * jnp.eye(4, dtype=x.dtype)
            s = h @ p @ h.T + 0.1 * jnp.eye(2, dtype=x.dtype)
            det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
            inverse = jnp.stack([jnp.stack([s[1, 1], -s[0, 1]]), jnp.stack([-s[1, 0], s[0, 0]])]) / det
            gain = p @ h.T @ inverse
            x = x + gain @ (z - h @ x)
            return (x, p - gain @ h @ p), x

        (_, p), x = lax.scan(step, (jnp.zeros(4, seen.dtype), jnp.eye(4, dtype=seen.dtype)), seen)
        return x, p

    return Network(fn, {}, (np.cumsum(0.1 * w.normal(steps, 2), 0).astype(np.float32),))


def nbody(small: bool) -> Network:
    """Leapfrog steps under softened gravity"""
    w = Weights(404)
    bodies, steps = (6, 2) if small else (400, 10)

    def fn(_: Any, place: jax.Array, speed: jax.Array, mass: jax.Array) -> Any:
        def pull(x: jax.Array) -> jax.Array:
            apart = x[None] - x[:, None]
            near = lax.rsqrt(jnp.sum(jnp.square(apart), -1) + 0.1)
            return jnp.einsum("ij,ijd->id", near * near * near * mass[None], apart)

        def step(_: Any, state: Any) -> Any:
            x, v = state
            v = v + 0.005 * pull(x)
            x = x + 0.01 * v
            return x, v + 0.005 * pull(x)

        return lax.fori_loop(0, steps, step, (place, speed))

    return Network(fn, {}, (w.normal(bodies, 3), 0.1 * w.normal(bodies, 3), w.uniform(0.5, 1.5, bodies) / bodies))


def ode(small: bool) -> Network:
    """Runge-Kutta of order 4 over many predators and their prey"""
    w = Weights(405)
    batch, steps = (6, 5) if small else (1000, 200)

    def fn(_: Any, state: jax.Array) -> jax.Array:
        def slope(s: jax.Array) -> jax.Array:
            return jnp.stack([s[0] * (1.1 - 0.4 * s[1]), s[1] * (0.1 * s[0] - 0.4)])

        def step(_: Any, s: jax.Array) -> jax.Array:
            a = slope(s)
            b = slope(s + 0.025 * a)
            c = slope(s + 0.025 * b)
            return s + 0.05 / 6 * (a + 2 * b + 2 * c + slope(s + 0.05 * c))

        return lax.fori_loop(0, steps, step, state)

    return Network(fn, {}, (w.uniform(2, 8, 2, batch),))


def sinkhorn(small: bool) -> Network:
    """Optimal transport, by logarithms"""
    w = Weights(406)
    n, m, turns = (6, 5, 4) if small else (128, 96, 40)

    def fn(_: Any, x: jax.Array, y: jax.Array) -> Any:
        cost = jnp.sum(jnp.square(x[:, None] - y[None]), -1) / 0.5

        def step(_: Any, fg: Any) -> Any:
            f = -jnp.log(float(n)) - jax.nn.logsumexp(fg[1][None] - cost, 1)
            return f, -jnp.log(float(m)) - jax.nn.logsumexp(f[:, None] - cost, 0)

        f, g = lax.fori_loop(0, turns, step, (jnp.zeros(n, x.dtype), jnp.zeros(m, x.dtype)))
        plan = jnp.exp(f[:, None] + g[None] - cost)
        return plan, jnp.sum(plan * cost)

    return Network(fn, {}, (w.normal(n, 4), w.normal(m, 4)))


def crf(small: bool) -> Network:
    """Logarithm of the sum over all paths, and the score of one"""
    w = Weights(407)
    steps, batch, tags = (6, 2, 4) if small else (120, 8, 24)

    def fn(p: Any, emit: jax.Array, labels: jax.Array) -> jax.Array:
        def step(a: jax.Array, e: jax.Array) -> Any:
            return jax.nn.logsumexp(a[:, :, None] + p["t"][None], 1) + e, None

        last, _ = lax.scan(step, emit[0], emit[1:])
        of = jnp.take_along_axis(emit, labels[..., None], -1)[..., 0]
        return jnp.sum(of, 0) + jnp.sum(p["t"][labels[:-1], labels[1:]], 0) - jax.nn.logsumexp(last, -1)

    labels = w.rng.integers(0, tags, (steps, batch), dtype=np.int32)
    return Network(fn, {"t": w.normal(tags, tags)}, (w.normal(steps, batch, tags), labels))


def viterbi(small: bool) -> Network:
    """The best path, traced back"""
    w = Weights(408)
    steps, tags = (6, 4) if small else (150, 32)

    def fn(p: Any, emit: jax.Array) -> Any:
        def step(a: jax.Array, e: jax.Array) -> Any:
            scores = a[:, None] + p["t"]
            return jnp.max(scores, 0) + e, jnp.argmax(scores, 0).astype(jnp.int32)

        last, came = lax.scan(step, emit[0], emit[1:])
        end = jnp.argmax(last).astype(jnp.int32)
        _, path = lax.scan(lambda at, row: (row[at], at), end, came, reverse=True)
        return jnp.max(last), path

    return Network(fn, {"t": w.normal(tags, tags)}, (w.normal(steps, tags),))


def nms(small: bool) -> Network:
    """Boxes in the order of their scores, each dropped that overlaps a kept one too much"""
    w = Weights(409)
    boxes = 12 if small else 300

    def fn(_: Any, box: jax.Array, score: jax.Array) -> Any:
        order = jnp.argsort(-score)
        b = box[order]
        area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        low, high = jnp.maximum(b[:, None, :2], b[None, :, :2]), jnp.minimum(b[:, None, 2:], b[None, :, 2:])
        side = jnp.maximum(high - low, 0)
        both = side[..., 0] * side[..., 1]
        clash = both > 0.45 * (area[:, None] + area[None] - both)

        def step(i: jax.Array, keep: jax.Array) -> jax.Array:
            later = lax.iota(jnp.int32, boxes) > i
            return keep & ~(clash[i] & later & keep[i])

        keep = lax.fori_loop(0, boxes, step, jnp.ones(boxes, bool))
        return jnp.where(keep, order.astype(jnp.int32), -1), jnp.where(keep, score[order], 0)

    corner, size = w.uniform(0, 20, boxes, 2), w.uniform(2, 10, boxes, 2)
    score = (w.rng.permutation(boxes) / boxes).astype(np.float32)
    return Network(fn, {}, (np.concatenate([corner, corner + size], -1), score))


def nms_until(small: bool) -> Network:
    """The best box left, again and again until none is worth it: how often is decided by the data"""
    w = Weights(410)
    boxes, most = (12, 6) if small else (600, 100)

    def fn(_: Any, box: jax.Array, score: jax.Array) -> Any:
        area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])

        def step(state: Any) -> Any:
            i, left, kept = state
            best = jnp.argmax(left).astype(jnp.int32)
            b = box[best]
            low, high = jnp.maximum(b[:2], box[:, :2]), jnp.minimum(b[2:], box[:, 2:])
            side = jnp.maximum(high - low, 0)
            both = side[:, 0] * side[:, 1]
            left = jnp.where(both > 0.45 * (area + area[best] - both), -1.0, left)
            return i + 1, left, kept.at[i].set(best)

        kept = jnp.full(most, -1, jnp.int32)
        state = (jnp.zeros((), jnp.int32), score, kept)
        i, _, kept = lax.while_loop(lambda s: (s[0] < most) & (jnp.max(s[1]) > 0.3), step, state)
        return i, kept

    corner, size = w.uniform(0, 30, boxes, 2), w.uniform(2, 10, boxes, 2)
    score = (w.rng.permutation(boxes) / boxes).astype(np.float32)
    return Network(fn, {}, (np.concatenate([corner, corner + size], -1), score))


def sorting(small: bool) -> Network:
    """Rows in order, and with their places"""
    w = Weights(411)
    rows, n = (2, 20) if small else (4, 5000)

    def fn(_: Any, x: jax.Array, keys: jax.Array) -> Any:
        order = jnp.argsort(x, -1)
        return jnp.sort(x, -1), order.astype(jnp.int32), jnp.sort(keys)

    keys = w.rng.integers(-(1 << 20), 1 << 20, n, dtype=np.int32)
    return Network(fn, {}, (w.normal(rows, n), keys))


def top_k(small: bool) -> Network:
    """50 of 32000, four times; nucleus sampling's sums of them"""
    w = Weights(412)
    rows, n, k = (2, 40, 5) if small else (4, 32000, 50)

    def fn(_: Any, x: jax.Array) -> Any:
        best, at = lax.top_k(x, k)
        return best, at, jnp.cumsum(jax.nn.softmax(best, -1), -1)

    return Network(fn, {}, (w.normal(rows, n),))


def take_along(small: bool) -> Network:
    w = Weights(413)
    rows, n, k = (4, 20, 5) if small else (256, 1000, 50)

    def fn(_: Any, x: jax.Array, at: jax.Array) -> jax.Array:
        return jnp.take_along_axis(x, at, 1)

    return Network(fn, {}, (w.normal(rows, n), w.rng.integers(0, n, (rows, k), dtype=np.int32)))


def heat(small: bool) -> Network:
    """A stencil in two dimensions, its border fixed"""
    w = Weights(414)
    n, steps = (8, 4) if small else (64, 200)

    def fn(_: Any, x: jax.Array) -> jax.Array:
        def step(_: Any, x: jax.Array) -> jax.Array:
            around = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
            return x.at[1:-1, 1:-1].add(0.2 * (around - 4 * x[1:-1, 1:-1]))

        return lax.fori_loop(0, steps, step, x)

    return Network(fn, {}, (w.normal(n, n),))


def wave(small: bool) -> Network:
    """The wave equation by padded shifts, periodic"""
    w = Weights(415)
    n, steps = (8, 4) if small else (256, 20)

    def fn(_: Any, x: jax.Array) -> jax.Array:
        def step(state: Any, _: Any) -> Any:
            before, x = state
            around = sum(jnp.roll(x, d, axis) for d in (1, -1) for axis in (0, 1))
            after = 2 * x - before + 0.2 * (around - 4 * x)
            return (x, after), after[0]

        (_, x), trace = lax.scan(step, (x, x), None, length=steps)
        return x, trace

    y, z = np.mgrid[:n, :n] / n * 2 * np.pi
    return Network(fn, {}, ((np.sin(y) * np.cos(2 * z) + 0.1 * w.normal(n, n)).astype(np.float32),))


def conjugate_gradient(small: bool) -> Network:
    """A linear system, until the residual is small"""
    w = Weights(416)
    n = 8 if small else 256
    a = w.normal(n, n)
    a = (a @ a.T / n + 2 * np.eye(n)).astype(np.float32)

    def fn(p: Any, b: jax.Array) -> jax.Array:
        def step(state: Any) -> Any:
            x, r, d, rr, i = state
            ad = jnp.sum(p["a"] * d[None], -1)
            alpha = rr / jnp.sum(d * ad)
            x, r = x + alpha * d, r - alpha * ad
            new = jnp.sum(r * r)
            return x, r, r + new / rr * d, new, i + 1

        start = (jnp.zeros_like(b), b, b, jnp.sum(b * b), jnp.zeros((), jnp.int32))
        x, _, _, _, i = lax.while_loop(lambda s: (s[3] > 1e-6) & (s[4] < 100), step, start)
        return x, i

    return Network(fn, {"a": a}, (w.normal(n),))


def black_scholes(small: bool) -> Network:
    """Prices and deltas of many options"""
    w = Weights(417)
    n = 50 if small else 100000

    def fn(_: Any, spot: jax.Array, strike: jax.Array, time: jax.Array, spread: jax.Array) -> Any:
        root = spread * jnp.sqrt(time)
        d1 = (jnp.log(spot / strike) + (0.02 + spread * spread / 2) * time) / root
        first, second = (0.5 * (1 + lax.erf(d / 2**0.5)) for d in (d1, d1 - root))
        return spot * first - strike * jnp.exp(-0.02 * time) * second, first

    return Network(fn, {}, (w.uniform(80, 120, n), w.uniform(80, 120, n), w.uniform(0.2, 2, n), w.uniform(0.1, 0.5, n)))


def pagerank(small: bool) -> Network:
    """Along the edges of a graph, twenty times"""
    w = Weights(418)
    nodes, edges = (8, 20) if small else (2000, 10000)

    def fn(_: Any, source: jax.Array, target: jax.Array, out: jax.Array) -> jax.Array:
        def step(_: Any, rank: jax.Array) -> jax.Array:
            share = rank / out
            return 0.15 / nodes + 0.85 * jnp.zeros(nodes, rank.dtype).at[target].add(share[source])

        return lax.fori_loop(0, 20, step, jnp.ones(nodes, out.dtype) / nodes)

    source, target = (w.rng.integers(0, nodes, edges, dtype=np.int32) for _ in range(2))
    out = np.maximum(np.bincount(source, minlength=nodes), 1).astype(np.float32)
    return Network(fn, {}, (source, target, out))


def edit_distance(small: bool) -> Network:
    """Of two strings, by diagonals of running minima; integers"""
    w = Weights(419)
    n, m = (8, 6) if small else (200, 160)

    def fn(_: Any, a: jax.Array, b: jax.Array) -> Any:
        at = lax.iota(jnp.int32, m + 1)

        def step(row: jax.Array, letter: jax.Array) -> Any:
            best = jnp.minimum(row[1:] + 1, row[:-1] + (b != letter).astype(jnp.int32))
            best = jnp.concatenate([row[:1] + 1, best])
            row = lax.cummin(best - at) + at
            return row, row[-1]

        row, last = lax.scan(step, at, a)
        return row, last

    return Network(fn, {}, (w.rng.integers(0, 4, n, dtype=np.int32), w.rng.integers(0, 4, m, dtype=np.int32)))


def running(small: bool) -> Network:
    """Running sums, products, maxima and means of a window"""
    w = Weights(420)
    rows, n = (3, 20) if small else (64, 2000)

    def fn(_: Any, x: jax.Array) -> Any:
        total = jnp.cumsum(x, -1)
        window = lax.reduce_window(x, 0.0, lax.add, (1, 8), (1, 1), "VALID") / 8
        return total, lax.cummax(x, 1), jnp.cumprod(1 + 0.01 * x[:, :50], -1), window

    return Network(fn, {}, (w.normal(rows, n),))


def histogram(small: bool) -> Network:
    """Counts and sums by key, and where values stand in an order"""
    w = Weights(421)
    n, keys = (30, 5) if small else (20000, 256)

    def fn(_: Any, x: jax.Array, key: jax.Array, edges: jax.Array) -> Any:
        count = jnp.zeros(keys, jnp.int32).at[key].add(1)
        most = jnp.full(keys, -10.0, x.dtype).at[key].max(x)
        where = jnp.searchsorted(edges, x).astype(jnp.int32)
        return count, jnp.zeros(keys, x.dtype).at[key].add(x), most, where

    return Network(fn, {}, (w.normal(n), w.rng.integers(0, keys, n, dtype=np.int32), np.sort(w.normal(64))))


def life(small: bool) -> Network:
    """Conway's game; integers"""
    w = Weights(422)
    n, steps = (8, 3) if small else (128, 30)

    def fn(_: Any, x: jax.Array) -> jax.Array:
        def step(_: Any, x: jax.Array) -> jax.Array:
            rows = x + jnp.roll(x, 1, 0) + jnp.roll(x, -1, 0)
            near = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1) - x
            return ((near == 3) | ((near == 2) & (x == 1))).astype(jnp.int32)

        return lax.fori_loop(0, steps, step, x)

    return Network(fn, {}, (w.rng.integers(0, 2, (n, n), dtype=np.int32),))


MODELS = (kmeans, gaussian_process, kalman, nbody, ode, sinkhorn, crf, viterbi, nms, nms_until, sorting, top_k,
          take_along, heat, wave, conjugate_gradient, black_scholes, pagerank, edit_distance, running, histogram, life)
