#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write what the installed jaxlib says of HLO, and golden modules that it writes.

jaxlib-VERSION.txt has a line for each field of XLA's HLO messages, `message number name type`, a type
of messages and enumerations by their names, and for each value of an enumeration.

jaxlib's library carries the descriptors of its protocols, which say so (descriptor.proto's
FileDescriptorProto, read here by its field numbers).
"""

import importlib.metadata
import pathlib
import shutil
import sys

import jax
import jax.numpy as jnp
import numpy as np

FILES = (b"xla/service/hlo.proto", b"xla/xla_data.proto", b"xla/service/metrics.proto")
HERE = pathlib.Path(__file__).resolve().parent
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
TYPES = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32",
         8: "bool", 9: "string", 10: "group", 12: "bytes", 13: "uint32", 15: "sfixed32",
         16: "sfixed64", 17: "sint32", 18: "sint64"}


def varint(b, at):
    value = shift = 0
    while True:
        value |= (b[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if b[at - 1] < 0x80:
            return value, at


def fields(b, at=0, end=None):
    """(number, value, where it ends); ends where no FileDescriptorProto goes on"""
    while at < (len(b) if end is None else end):
        tag, at = varint(b, at)
        number, wire = tag >> 3, tag & 7
        if end is None and not 1 <= number <= 14:
            return
        if wire == 0:
            value, at = varint(b, at)
        elif wire == 2:
            size, at = varint(b, at)
            value, at = b[at:at + size], at + size
        else:
            return
        yield number, value, at


def of(b, number):
    return [v for n, v, _ in fields(b, 0, len(b)) if n == number]


def descriptor(library, name):
    """The serialized descriptor of a file, whose first field is its name"""
    head = bytes([0x0a, len(name)]) + name
    at = library.find(head)
    if at < 0:
        return None
    part = library[at:at + (1 << 20)]
    end = 0
    for number, _, stop in fields(part):
        if number == 1 and end:  # the next file's
            break
        end = stop
        if number == 12:  # syntax, the last field
            break
    return part[:end]


def message(b, prefix, out):
    name = prefix + of(b, 1)[0].decode()
    for field in of(b, 2):
        kind = of(field, 6)
        kind = kind[0].decode().rsplit(".", 1)[-1] if kind else TYPES[of(field, 5)[0]]
        repeated = "repeated " if of(field, 4) == [3] else ""
        out.append((name, of(field, 3)[0], of(field, 1)[0].decode(), repeated + kind))
    for nested in of(b, 3):
        message(nested, name + ".", out)
    for nested in of(b, 4):
        enum(nested, name + ".", out)


def enum(b, prefix, out):
    name = prefix + of(b, 1)[0].decode()
    for value in of(b, 2):
        number = of(value, 2)
        out.append((name, number[0] if number else 0, of(value, 1)[0].decode(), "enum"))


def write_fields(version):
    out = []
    for path in importlib.metadata.files("jaxlib"):
        if path.suffix != ".so" or path.locate().stat().st_size < 1 << 24:
            continue
        library = path.locate().read_bytes()
        for name in FILES:
            b = descriptor(library, name)
            for m in of(b, 4) if b else []:
                message(m, "", out)
            for e in of(b, 5) if b else []:
                enum(e, "", out)
    if not any(row[:2] == ("HloInstructionProto", 35) for row in out):
        sys.exit("this jaxlib carries no descriptors of HLO")
    lines = [" ".join(map(str, row)) + "\n" for row in sorted(set(out))]
    (HERE / f"jaxlib-{version}.txt").write_text("".join(lines))
    print(f"jaxlib-{version}.txt: {len(lines)} fields and values")


def save_module(name, fn, args, outs):
    out = HERE / f"{name}-{importlib.metadata.version('jaxlib')}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    fn.__name__ = name
    lowered = jax.jit(fn).lower(*args)
    (out / "module.hlo.pb").write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    for stem, arrays in ("in", args), ("out", outs):
        for i, a in enumerate(arrays):
            np.save(out / f"{stem}{i}.npy", a)
    return f"{out.name} {len(args)} {len(outs)} 0\n"


def modules():
    """Comparisons in total order and in partial order, with NumPy's results, in which NaN is the last"""
    nan, inf = np.nan, np.inf
    table = np.array([-inf, -1, 0, 1, 2, nan, nan], np.float32)
    x = np.array([3, 1.5, -1, inf, nan, -inf, 0, -0.0], np.float32)
    yield save_module("search", lambda t, v: (jnp.searchsorted(t, v), jnp.searchsorted(t, v, side="right")),
                      [table, x], [np.searchsorted(table, x, side=s).astype(np.int32) for s in ("left", "right")])
    a = np.array([2, nan, 1, nan, 1, 2, -inf, nan], np.float32)
    b = np.array([5, 1, nan, 0, 3, -inf, inf, nan], np.float32)
    yield save_module("keys", lambda p, q: jnp.lexsort((p, q)), [a, b], [np.lexsort((a, b)).astype(np.int32)])
    yield save_module("partial", lambda p, q: (p < q, p >= q, p == q, p != q), [a, b],
                      [r.astype(np.int8) for r in (a < b, a >= b, a == b, a != b)])
    whole = np.array([3, -7, 2**31 - 1, -2**31, 0, 3, 3, -1], np.int32)
    yield save_module("whole", lambda p, q: (p < q, p >= q, jnp.argsort(p)), [whole, whole[::-1].copy()],
                      [(whole < whole[::-1]).astype(np.int8), (whole >= whole[::-1]).astype(np.int8),
                       np.argsort(whole, kind="stable").astype(np.int32)])


def main():
    version = importlib.metadata.version("jaxlib")
    write_fields(version)
    listed = HERE / "cases.txt"
    rows = listed.read_text().splitlines(True) if listed.exists() else []
    rows = [r for r in rows if not r.split()[0].endswith("-" + version)] + list(modules())
    listed.write_text("".join(sorted(rows)))


main()
