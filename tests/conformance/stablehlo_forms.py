#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""What StableHLO has and HLO has not, or in another form, in texts: is it what the specification says? As TAP.

usage: stablehlo_forms.py NEURONX_CC NEURON_RUN DIRECTORY

Each text, and the artifact that jaxlib made of it (DIRECTORY/NUMBER.mlirbc, by ../data/stablehlo/make.py), is compiled
without options and run on a chip in process; its results are compared with numpy's. Texts that are not supported have to
be refused, with what is given.
"""

import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, NamedTuple

import numpy as np

X = (np.arange(32, dtype=np.float32).reshape(4, 8) * 37 % 29 - 11) / 4
Y = (np.arange(40, dtype=np.float32).reshape(8, 5) * 23 % 31 - 15) / 8
Z = (np.arange(60, dtype=np.float32).reshape(3, 4, 5) * 41 % 53 - 26) / 8
N = np.array([-1, 2, 7], np.int32)


class Case(NamedTuple):
    body: str  # of main, whose arguments are %0, %1, ... and which returns %r0, %r1, ...
    inputs: tuple[np.ndarray, ...]
    expected: Callable[..., list[np.ndarray]]
    ulps: float = 0.0


def name_of(x: np.ndarray) -> str:
    return "".join(f"{d}x" for d in x.shape) + {"float32": "f32", "int32": "i32", "int8": "i8", "uint8": "ui8", "bool": "i1"}[x.dtype.name]


def normalized(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.where(n < 0, np.clip(n, 0, 3) + 4, np.clip(n, 0, 3))


CASES = {
    "numbers of 64 bits that become one of 32": Case("""
        %c = stablehlo.constant dense<0.1> : tensor<1xf64>
        %h = stablehlo.constant dense<0.5> : tensor<f64>
        %a = stablehlo.convert %c : (tensor<1xf64>) -> tensor<1xf32>
        %b = stablehlo.reshape %a : (tensor<1xf32>) -> tensor<f32>
        %d = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
        %r0 = stablehlo.multiply %0, %d : tensor<4x8xf32>
        %e = stablehlo.broadcast_in_dim %h, dims = [] : (tensor<f64>) -> tensor<4x8xf64>
        %f = stablehlo.convert %e : (tensor<4x8xf64>) -> tensor<4x8xf32>
        %r1 = stablehlo.add %0, %f : tensor<4x8xf32>""", (X,), lambda x: [x * np.float32(0.1), x + np.float32(0.5)]),
    "a large number of them": Case("""
        %c = stablehlo.constant dense<0.1> : tensor<f64>
        %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f64>) -> tensor<64x64xf64>
        %b = stablehlo.convert %a : (tensor<64x64xf64>) -> tensor<64x64xf32>
        %i = stablehlo.iota dim = 1 : tensor<64x64xi64>
        %t = stablehlo.constant dense<3> : tensor<64x64xi64>
        %m = stablehlo.multiply %i, %t : tensor<64x64xi64>
        %n = stablehlo.convert %m : (tensor<64x64xi64>) -> tensor<64x64xf32>
        %o = stablehlo.multiply %b, %n : tensor<64x64xf32>
        %r0 = stablehlo.add %0, %o : tensor<64x64xf32>""", (np.zeros((64, 64), np.float32),),
                                   lambda x: [np.broadcast_to(np.float32(0.1) * (np.arange(64, dtype=np.float32) * 3), (64, 64))]),
    "indices of 64 bits": Case("""
        %o = stablehlo.constant dense<1> : tensor<i64>
        %r0 = stablehlo.dynamic_slice %0, %o, %o, sizes = [2, 3] : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
        %r1 = stablehlo.dynamic_update_slice %0, %r0, %o, %o : (tensor<4x8xf32>, tensor<2x3xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
        %w = stablehlo.convert %1 : (tensor<3xi32>) -> tensor<3xi64>
        %z = stablehlo.constant dense<0> : tensor<3xi64>
        %f = stablehlo.constant dense<4> : tensor<3xi64>
        %m = stablehlo.constant dense<3> : tensor<3xi64>
        %neg = stablehlo.compare LT, %w, %z : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
        %lo = stablehlo.clamp %z, %w, %m : tensor<3xi64>
        %up = stablehlo.add %lo, %f : tensor<3xi64>
        %i = stablehlo.select %neg, %up, %lo : tensor<3xi1>, tensor<3xi64>
        %v = stablehlo.reshape %i : (tensor<3xi64>) -> tensor<3x1xi64>
        %r2 = "stablehlo.gather"(%0, %v) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
          start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi64>) -> tensor<3x8xf32>
        %r3 = stablehlo.convert %i : (tensor<3xi64>) -> tensor<3xi32>""", (X, N), lambda x, n: [
            x[1:3, 1:4], x, x[np.clip(normalized(x, n), 0, 3)], normalized(x, n)]),
    "arithmetic on constants": Case("""
        %a = stablehlo.constant dense<10.0> : tensor<f64>
        %b = stablehlo.constant dense<3.0> : tensor<f64>
        %q = stablehlo.divide %a, %b : tensor<f64>
        %c = stablehlo.ceil %q : tensor<f64>
        %i = stablehlo.convert %c : (tensor<f64>) -> tensor<i64>
        %m = stablehlo.constant dense<-3000000000> : tensor<i64>
        %k = stablehlo.constant dense<1000000007> : tensor<i64>
        %l = stablehlo.multiply %m, %k : tensor<i64>
        %d = stablehlo.divide %l, %m : tensor<i64>
        %e = stablehlo.remainder %l, %k : tensor<i64>
        %v0 = stablehlo.reshape %i : (tensor<i64>) -> tensor<1xi64>
        %v1 = stablehlo.reshape %d : (tensor<i64>) -> tensor<1xi64>
        %v2 = stablehlo.reshape %e : (tensor<i64>) -> tensor<1xi64>
        %v = stablehlo.concatenate %v0, %v1, %v2, dim = 0 : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
        %w = stablehlo.convert %v : (tensor<3xi64>) -> tensor<3xi32>
        %x = stablehlo.slice %v [1:3] : (tensor<3xi64>) -> tensor<2xi64>
        %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<2xi64>) -> tensor<3x2xi64>
        %t = stablehlo.transpose %y, dims = [1, 0] : (tensor<3x2xi64>) -> tensor<2x3xi64>
        %s = stablehlo.convert %t : (tensor<2x3xi64>) -> tensor<2x3xi32>
        %r0 = stablehlo.add %0, %w : tensor<3xi32>
        %r1 = stablehlo.slice %s [0:2, 1:2] : (tensor<2x3xi32>) -> tensor<2x1xi32>""", (N,), lambda n: [
            n + np.array([4, 1000000007, 0], np.int32), np.array([[1000000007], [0]], np.int32)]),
    "an arange of floats of 64 bits": Case("""
        %n = stablehlo.constant dense<2000> : tensor<1xi64>
        %i = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<2000xf64>
        %s = stablehlo.constant dense<0.1> : tensor<f64>
        %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f64>) -> tensor<2000xf64>
        %m = stablehlo.multiply %i, %t : tensor<2000xf64>
        %f = stablehlo.convert %m : (tensor<2000xf64>) -> tensor<2000xf32>
        %r0 = stablehlo.add %0, %f : tensor<2000xf32>""", (np.zeros(2000, np.float32),), lambda x: [(np.arange(2000) * 0.1).astype(np.float32)]),
    "sizes that are operands": Case("""
        %i = stablehlo.constant dense<[1, -1]> : tensor<2xi32>
        %j = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
        %z = stablehlo.constant dense<0> : tensor<2xi64>
        %v = stablehlo.constant dense<7.0> : tensor<f32>
        %l = stablehlo.convert %i : (tensor<2xi32>) -> tensor<2xi64>
        %r0 = stablehlo.dynamic_pad %0, %v, %l, %j, %z : (tensor<4x8xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<5x9xf32>
        %s0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
        %s1 = stablehlo.constant dense<[4, 8]> : tensor<2xi32>
        %s2 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
        %r1 = stablehlo.real_dynamic_slice %0, %s0, %s1, %s2 : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3x2xf32>
        %n = stablehlo.constant dense<[8, 4]> : tensor<2xi64>
        %r2 = stablehlo.dynamic_reshape %0, %n : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<8x4xf32>
        %b = stablehlo.constant dense<[2, 4, 8]> : tensor<3xi64>
        %r3 = stablehlo.dynamic_broadcast_in_dim %0, %b, dims = [1, 2] : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<2x4x8xf32>
        %r4 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<2xi64>) -> tensor<8x4xf32>
        %g = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
        %gs = stablehlo.constant dense<[1, 8]> : tensor<2xi64>
        %r5 = "stablehlo.dynamic_gather"(%0, %g, %gs) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
          start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2xi64>) -> tensor<2x8xf32>""", (X,), lambda x: [
              np.pad(x[:, 1:], ((1, 0), (0, 2)), constant_values=7), x[1:4, 2:8:3], x.reshape(8, 4), np.broadcast_to(x, (2, 4, 8)),
              np.broadcast_to(np.arange(8, dtype=np.float32)[:, None], (8, 4)), x[[2, 0]]]),
    "dynamic_conv": Case("""
        %p = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi64>
        %r0 = "stablehlo.dynamic_conv"(%0, %1, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64,
          batch_group_count = 1 : i64, window_strides = array<i64: 1>}> : (tensor<1x4x8xf32>, tensor<3x8x5xf32>, tensor<1x2xi64>) -> tensor<1x4x5xf32>""",
        (X[None], np.stack([Y, Y * 2, -Y])), lambda x, k: [sum(np.pad(x, ((0, 0), (1, 1), (0, 0)))[:, i:i + 4] @ k[i] for i in range(3))], ulps=2),
    "einsum": Case("""
        %r0 = stablehlo.einsum %0, %1, config = "ab,bc->ca" : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<5x4xf32>
        %r1 = stablehlo.einsum %2, %2, config = "abc,abd->bdca" : (tensor<3x4x5xf32>, tensor<3x4x5xf32>) -> tensor<4x5x5x3xf32>
        %r2 = stablehlo.einsum %2, %1, config = "abc,dc->bd" : (tensor<3x4x5xf32>, tensor<8x5xf32>) -> tensor<4x8xf32>
        %r3 = "stablehlo.unary_einsum"(%2) <{einsum_config = "abc->ca"}> : (tensor<3x4x5xf32>) -> tensor<5x3xf32>
        %r4 = "stablehlo.einsum"(%0, %0) <{einsum_config = "ab,ab->"}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<f32>""", (X, Y, Z), lambda x, y, z: [
            np.einsum("ab,bc->ca", x, y), np.einsum("abc,abd->bdca", z, z), np.einsum("abc,dc->bd", z, y), np.einsum("abc->ca", z),
            np.einsum("ab,ab->", x, x)], ulps=2),
    "torch_index_select": Case("""
        %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
        %r0 = "stablehlo.torch_index_select"(%0, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> : (tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<3x2x5xf32>
        %r1 = "stablehlo.torch_index_select"(%0, %1) <{dim = 2 : i64, batch_dims = 1 : i64}> : (tensor<3x4x5xf32>, tensor<3x2xi32>) -> tensor<3x4x2xf32>""",
        (Z, np.array([[0, 4], [3, 1], [2, 2]], np.int32)), lambda z, i: [z[:, [2, 0]], np.stack([z[k][:, i[k]] for k in range(3)])]),
}

def norm(x: np.ndarray, scale: np.ndarray, offset: np.ndarray, mean: np.ndarray, variance: np.ndarray, axis: int) -> np.ndarray:
    wide = lambda y: y.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    return wide(scale) * ((x - wide(mean)) / np.sqrt(wide(variance) + EPSILON)) + wide(offset)


def norm_training(x: np.ndarray, scale: np.ndarray, offset: np.ndarray, axis: int) -> list[np.ndarray]:
    others = tuple(d for d in range(x.ndim) if d != axis)
    mean, variance = x.mean(others), x.var(others)
    return [norm(x, scale, offset, mean, variance, axis), mean, variance]


def norm_grad(x: np.ndarray, scale: np.ndarray, mean: np.ndarray, variance: np.ndarray, grad: np.ndarray) -> list[np.ndarray]:
    """By the formula that StableHLO's specification has, of feature 2 of 3 dimensions"""
    n, centred = x.size / x.shape[2], x - mean
    inner = n * grad - grad.sum((0, 1)) - (grad * centred).sum((0, 1)) * centred / (variance + EPSILON)
    return [scale / np.sqrt(variance + EPSILON) / n * inner, (grad * centred).sum((0, 1)) / np.sqrt(variance + EPSILON), grad.sum((0, 1))]


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def vendor(x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(-x, 2, kind="stable")[:, :, :3]
    return [softmax(x, 2), softmax(x, 1), x / np.sqrt((x * x).mean(2, keepdims=True) + np.float32(0.01)) * w, x / (1 + np.exp(-x)),
            x * (1 + ERF(x / np.sqrt(2))) / 2, x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2, ERF(x),
            np.take_along_axis(x, order, 2), order.astype(np.int32), x.argmax(1).astype(np.int32), x.argmin(2).astype(np.int32), x, x]


def call(target: str, x: str, to: str, config: str = "", types: str = "tensor<3x4x5xf32>") -> str:
    return f'stablehlo.custom_call @"{target}"({x}) {{backend_config = "{config}"}} : ({types}) -> {to}'


ERF = np.vectorize(math.erf)
EPSILON = 0.01
SAME = "tensor<3x4x5xf32>"
CASES["custom calls of the vendor's front ends"] = Case(f"""
        %e = stablehlo.constant dense<0.01> : tensor<f32>
        %r0 = {call("AwsNeuronSoftmax", "%0", SAME, "2")}
        %r1 = {call("AwsNeuronSoftmax", "%0", SAME, "1")}
        %r2 = {call("AwsNeuronRmsNorm", "%0, %1, %e", SAME, "2", f"{SAME}, tensor<5xf32>, tensor<f32>")}
        %r3 = {call("AwsNeuronSilu", "%0", SAME)}
        %r4 = {call("AwsNeuronGelu", "%0", SAME)}
        %r5 = {call("AwsNeuronGeluApprxTanh", "%0", SAME)}
        %r6 = {call("AwsNeuronErf", "%0", SAME)}
        %r7, %r8 = {call("AwsNeuronTopK", "%0", "(tensor<3x4x3xf32>, tensor<3x4x3xi32>)", "3")}
        %r9 = {call("AwsNeuronArgMax", "%0", "tensor<3x5xi32>", "1")}
        %r10 = {call("AwsNeuronArgMin", "%0", "tensor<3x4xi32>", "2")}
        %r11 = {call("AwsNeuronTransferWithStaticRing", "%0", SAME)}
        %m, %n = {call("AwsNeuronModuleMarkerStart-Forward", "%0, %1", f"({SAME}, tensor<5xf32>)", "", f"{SAME}, tensor<5xf32>")}
        %z = stablehlo.subtract %m, %m : {SAME}
        %r12 = stablehlo.add %z, %m : {SAME}""", (Z, np.arange(5, dtype=np.float32) - 1), vendor, ulps=24)
ROW, COLUMN = (np.arange(5, dtype=np.float32) - 1) / 2, (np.arange(3, dtype=np.float32) + 1) / 4
for at, each in ((2, 5), (0, 3)):
    CASES[f"batch_norm of feature {at}"] = Case(f"""
        %r0 = "stablehlo.batch_norm_inference"(%0, %1, %2, %3, %4) <{{epsilon = 0.01 : f32, feature_index = {at} : i64}}> :
          (tensor<3x4x5xf32>, tensor<{each}xf32>, tensor<{each}xf32>, tensor<{each}xf32>, tensor<{each}xf32>) -> tensor<3x4x5xf32>
        %r1, %r2, %r3 = "stablehlo.batch_norm_training"(%0, %1, %2) <{{epsilon = 0.01 : f32, feature_index = {at} : i64}}> :
          (tensor<3x4x5xf32>, tensor<{each}xf32>, tensor<{each}xf32>) -> (tensor<3x4x5xf32>, tensor<{each}xf32>, tensor<{each}xf32>)""",
        (Z, *((ROW, ROW - 1, ROW * 2, ROW + 1) if at else (COLUMN, COLUMN - 1, COLUMN * 2, COLUMN + 1))),
        lambda x, s, o, m, v, at=at: [norm(x, s, o, m, v, at), *norm_training(x, s, o, at)], ulps=8)
CASES["batch_norm_grad"] = Case("""
        %r0, %r1, %r2 = "stablehlo.batch_norm_grad"(%0, %1, %2, %3, %4) <{epsilon = 0.01 : f32, feature_index = 2 : i64}> : (tensor<3x4x5xf32>,
          tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3x4x5xf32>) -> (tensor<3x4x5xf32>, tensor<5xf32>, tensor<5xf32>)""",
    (Z, ROW, ROW * 2, ROW + 1, Z[::-1] * 2), norm_grad, ulps=16)
Q, P, A = "!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<u8<1:250>:f32, 0.1:128>", "!quant.uniform<i8<-127:127>:f32:1, {0.25, 0.5:5, 1.6e+1:-7}>"
M = Z.reshape(20, 3) * np.array([3, 9, 90], np.float32)


def quantized(x: np.ndarray, scale: np.ndarray, zero: np.ndarray, least: int, most: int) -> np.ndarray:
    return np.clip(np.round(x / scale) + zero, least, most).astype(np.float32)


def meant(x: np.ndarray) -> list[np.ndarray]:
    """round_nearest_even(x / scale) + zero point, within the bounds; and back"""
    f = np.float32
    a = (quantized(x, f(0.5), f(3), -128, 127) - f(3)) * f(0.5)
    b = (quantized(x, f(0.1), f(128), 1, 250) - f(128)) * f(0.1)
    scales, zeros = np.array([0.25, 0.5, 16], np.float32), np.array([0, 5, -7], np.float32)
    c = (quantized(x, scales, zeros, -127, 127) - zeros) * scales
    d = (quantized(a, f(0.1), f(128), 1, 250) - f(128)) * f(0.1)
    return [a, b, c, d, a.T[::-1]]


T = "tensor<20x3x"
CASES["quantized types"] = Case(f"""
        %a = stablehlo.uniform_quantize %0 : ({T}f32>) -> {T}{Q}>
        %b = stablehlo.uniform_quantize %0 : ({T}f32>) -> {T}{P}>
        %c = stablehlo.uniform_quantize %0 : ({T}f32>) -> {T}{A}>
        %d = stablehlo.uniform_quantize %a : ({T}{Q}>) -> {T}{P}>
        %e = stablehlo.transpose %a, dims = [1, 0] : ({T}{Q}>) -> tensor<3x20x{Q}>
        %f = stablehlo.reverse %e, dims = [0] : tensor<3x20x{Q}>
        %r0 = stablehlo.uniform_dequantize %a : ({T}{Q}>) -> {T}f32>
        %r1 = stablehlo.uniform_dequantize %b : ({T}{P}>) -> {T}f32>
        %r2 = stablehlo.uniform_dequantize %c : ({T}{A}>) -> {T}f32>
        %r3 = stablehlo.uniform_dequantize %d : ({T}{P}>) -> {T}f32>
        %r4 = stablehlo.uniform_dequantize %f : (tensor<3x20x{Q}>) -> tensor<3x20xf32>""", (M,), meant)
S = "tensor<4x8xf32>"
CASES["the greatest of each row, as jaxlib wrote it until 0.8"] = Case("""
        %r:2 = stablehlo.custom_call @mhlo.topk(%0) {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64}
            : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
        %z = stablehlo.constant dense<0.0> : tensor<4x3xf32>
        %y = stablehlo.constant dense<0> : tensor<4x3xi32>
        %r0 = stablehlo.add %r#0, %z : tensor<4x3xf32>
        %r1 = stablehlo.add %r#1, %y : tensor<4x3xi32>""", (X,), lambda x: [
            np.take_along_axis(x, (n := np.argsort(-x, 1, kind="stable")[:, :3]), 1), n.astype(np.int32)])
E, R = "!quant.uniform<i8:f32, 0.25:-7>", "!quant.uniform<i8:f32, 16.0:-5>"
B, F, N = "!quant.uniform<i32:f32, 0.5>", "!quant.uniform<i8:f32, 0.25>", "tensor<3x3x"
G = "!quant.uniform<i8<-127:127>:f32:1, {0.25, 0.5, 1.6e+1}>"


def computed(x: np.ndarray) -> list[np.ndarray]:
    """Computes a result from the numbers that quantized operands stand for, and quantizes it"""
    f = np.float32
    a = meant(x)[0]
    scales = np.array([0.25, 0.5, 16], f)
    c = quantized(x, scales, f(0), -127, 127) * scales
    b = (quantized(x, f(0.25), f(-7), -128, 127) + f(7)) * f(0.25)
    w = quantized(x, f(0.25), f(0), -128, 127) * f(0.25)
    back = lambda v: (quantized(v, f(16), f(-5), -128, 127) + f(5)) * f(16)  # noqa: E731
    return [back(a + b), back(a * b), back(np.maximum(a, b)), back(a.T @ c), np.round(a.T @ w / f(0.5)) * f(0.5), x.T @ c,
            (a < a[::-1]).astype(f), np.where(a < a[::-1], a, a[::-1])]


CASES["arithmetic of quantized types"] = Case(f"""
        %a = stablehlo.uniform_quantize %0 : ({T}f32>) -> {T}{Q}>
        %b = stablehlo.uniform_quantize %0 : ({T}f32>) -> {T}{E}>
        %c = stablehlo.uniform_quantize %0 : ({T}f32>) -> {T}{G}>
        %w = stablehlo.uniform_quantize %0 : ({T}f32>) -> {T}{F}>
        %t = stablehlo.transpose %a, dims = [1, 0] : ({T}{Q}>) -> tensor<3x20x{Q}>
        %u = stablehlo.transpose %0, dims = [1, 0] : ({T}f32>) -> tensor<3x20xf32>
        %v = stablehlo.reverse %a, dims = [0] : {T}{Q}>
        %d = "stablehlo.add"(%a, %b) : ({T}{Q}>, {T}{E}>) -> {T}{R}>
        %e = "stablehlo.multiply"(%a, %b) : ({T}{Q}>, {T}{E}>) -> {T}{R}>
        %f = "stablehlo.maximum"(%a, %b) : ({T}{Q}>, {T}{E}>) -> {T}{R}>
        %g = stablehlo.dot_general %t, %c, contracting_dims = [1] x [0] : (tensor<3x20x{Q}>, {T}{G}>) -> {N}{R}>
        %h = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<3x20x{Q}>, {T}{F}>) -> {N}{B}>
        %i = stablehlo.compare LT, %a, %v : ({T}{Q}>, {T}{Q}>) -> {T}i1>
        %j = stablehlo.select %i, %a, %v : {T}i1>, {T}{Q}>
        %r0 = stablehlo.uniform_dequantize %d : ({T}{R}>) -> {T}f32>
        %r1 = stablehlo.uniform_dequantize %e : ({T}{R}>) -> {T}f32>
        %r2 = stablehlo.uniform_dequantize %f : ({T}{R}>) -> {T}f32>
        %r3 = stablehlo.uniform_dequantize %g : ({N}{R}>) -> {N}f32>
        %r4 = stablehlo.uniform_dequantize %h : ({N}{B}>) -> {N}f32>
        %r5 = stablehlo.dot_general %u, %c, contracting_dims = [1] x [0] : (tensor<3x20xf32>, {T}{G}>) -> {N}f32>
        %r6 = stablehlo.convert %i : ({T}i1>) -> {T}f32>
        %r7 = stablehlo.uniform_dequantize %j : ({T}{Q}>) -> {T}f32>""", (M,), computed, ulps=8)

REFUSED = {
    "sizes that are computed": (f"""func.func @main(%0: {S}, %1: tensor<2xi32>, %v: tensor<f32>) -> {S} {{
        %z = stablehlo.constant dense<0> : tensor<2xi32>
        %r = stablehlo.dynamic_pad %0, %v, %1, %z, %z : ({S}, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> {S}
        return %r : {S} }}""", "dynamic_pad: operand 2 (edge_padding_low) is computed: it has to be constant"),
    "a letter twice": (f"""func.func @main(%0: tensor<4x4xf32>) -> tensor<4xf32> {{
        %r = "stablehlo.unary_einsum"(%0) <{{einsum_config = "aa->a"}}> : (tensor<4x4xf32>) -> tensor<4xf32>
        return %r : tensor<4xf32> }}""", "'aa->a': only letters, each once for an operand, are supported"),
    "a call of the vendor's that is not known": (f"""func.func @main(%0: {S}) -> {S} {{
        %r = stablehlo.custom_call @AwsNeuronIntMatmult(%0) : ({S}) -> {S}
        return %r : {S} }}""", "(target 'AwsNeuronIntMatmult')"),
    "a dimension that is none": (f"""func.func @main(%0: {S}) -> {S} {{
        %r = stablehlo.custom_call @AwsNeuronSoftmax(%0) {{backend_config = "2"}} : ({S}) -> {S}
        return %r : {S} }}""", "backend_config is '2', expected a number from 0 to 1"),
    "an order of quantized values": (f"""func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {{
        %q = stablehlo.uniform_quantize %0 : (tensor<4xf32>) -> tensor<4x{Q}>
        %s = "stablehlo.sort"(%q) ({{ ^bb0(%x: tensor<{Q}>, %y: tensor<{Q}>):
            %p = stablehlo.compare LT, %x, %y : (tensor<{Q}>, tensor<{Q}>) -> tensor<i1>
            stablehlo.return %p : tensor<i1> }}) : (tensor<4x{Q}>) -> tensor<4x{Q}>
        %r = stablehlo.uniform_dequantize %s : (tensor<4x{Q}>) -> tensor<4xf32>
        return %r : tensor<4xf32> }}""", "sort: of a quantized type: only moves"),
    "a move to another scale": (f"""func.func @main(%0: tensor<4xf32>) -> tensor<2x2xf32> {{
        %q = stablehlo.uniform_quantize %0 : (tensor<4xf32>) -> tensor<4x{Q}>
        %s = stablehlo.reshape %q : (tensor<4x{Q}>) -> tensor<2x2x{P}>
        %r = stablehlo.uniform_dequantize %s : (tensor<2x2x{P}>) -> tensor<2x2xf32>
        return %r : tensor<2x2xf32> }}""", "reshape: of a quantized type: only moves"),
    "a number that only 64 bits have": (f"""func.func @main(%0: tensor<4xi32>) -> tensor<4xi1> {{
        %w = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xi64>
        %k = stablehlo.constant dense<5000000000> : tensor<4xi64>
        %r = stablehlo.compare LT, %w, %k : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
        return %r : tensor<4xi1> }}""", "element type s64 is not supported"),
    "a product beyond 32 bits": (f"""func.func @main(%0: tensor<4xi32>) -> tensor<4xi1> {{
        %v = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xi64>
        %z = stablehlo.constant dense<0> : tensor<4xi64>
        %m = stablehlo.constant dense<100000> : tensor<4xi64>
        %w = stablehlo.clamp %z, %v, %m : tensor<4xi64>
        %p = stablehlo.multiply %w, %w : tensor<4xi64>
        %r = stablehlo.compare LT, %w, %p : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
        return %r : tensor<4xi1> }}""", "element type s64 is not supported"),
    "a number that fp32 has not": (f"""func.func @main(%0: {S}) -> tensor<64x64xbf16> {{
        %c = stablehlo.constant dense<0.1> : tensor<f64>
        %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f64>) -> tensor<64x64xf64>
        %r = stablehlo.convert %a : (tensor<64x64xf64>) -> tensor<64x64xbf16>
        return %r : tensor<64x64xbf16> }}""", "element type f64 is not supported"),
}


def text_of(case: Case) -> str:
    expected = results_of(case)
    types = ", ".join(f"tensor<{name_of(x)}>" for x in expected)
    arguments = ", ".join(f"%{i}: tensor<{name_of(x)}>" for i, x in enumerate(case.inputs))
    values = ", ".join(f"%r{i}" for i in range(len(expected)))
    return f"func.func @main({arguments}) -> ({types}) {{{case.body}\n  return {values} : {types}\n}}\n"


def results_of(case: Case) -> list[np.ndarray]:
    return [x.astype(np.float32) if x.dtype == np.float64 else x for x in case.expected(*case.inputs)]


def compiled(cc: str, model: Path, neff: Path) -> tuple[int, str]:
    done = subprocess.run([cc, "compile", "--framework", "StableHLO", str(model), "--target", "trn1", "--output", str(neff)],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def wrong_value(cc: str, run: str, case: Case, artifact: Path | None) -> str:
    expected = results_of(case)
    with tempfile.TemporaryDirectory() as d:
        work = Path(d)
        (work / "it.mlir").write_text(text_of(case))
        status, said = compiled(cc, artifact or work / "it.mlir", work / "it.neff")
        if status or said:
            return said.strip()
        options = []
        for i, x in enumerate(case.inputs):
            np.save(work / f"in{i}.npy", x)
            options += ["--input", f"input{i}={work / f'in{i}.npy'}"]
        done = subprocess.run([run, str(work / "it.neff"), *options, "--output-dir", str(work / "out")], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip()
        for i, x in enumerate(expected):
            out = np.load(work / "out" / f"output{i}.npy")
            if out.shape != x.shape or not np.allclose(out, x, rtol=case.ulps * 2**-23, atol=case.ulps * 2**-23 * abs(x).max()):
                return f"result {i}: {out.ravel()[:8]}, expected {x.ravel()[:8]}"
    return ""


def main() -> int:
    cc, run, directory = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    wrong = {}
    for number, (name, case) in enumerate(CASES.items()):
        wrong[name] = wrong_value(cc, run, case, None)
        wrong[f"{name}, as an artifact"] = wrong_value(cc, run, case, directory / f"{number}.mlirbc")
    for name, (text, refusal) in REFUSED.items():
        with tempfile.TemporaryDirectory() as d:
            (Path(d) / "it.mlir").write_text(text)
            status, said = compiled(cc, Path(d) / "it.mlir", Path(d) / "it.neff")
        wrong[f"{name}: refused"] = "" if status and refusal in said else f"{status}: {said.strip()}"
    print(f"1..{len(wrong)}")
    for number, (name, what) in enumerate(wrong.items(), 1):
        print(f"{'not ok' if what else 'ok'} {number} - {name}" + (f"\n# {what}" if what else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
