#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write tests/data/isa/fp8_golden.txt: the floats of 8 bits as ml_dtypes has them.

usage: gen_fp8_golden.py > tests/data/isa/fp8_golden.txt

A line "type NAME" starts a type. "code C X": the code C is the number with the bits X of fp32; NaN are not here.
"round X C": the number with the bits X is rounded to C: halves between neighbours and what is beside them.
"""
import ml_dtypes
import numpy as np

TYPES = {"fp8e3": ml_dtypes.float8_e3m4, "fp8e4": ml_dtypes.float8_e4m3, "fp8e5": ml_dtypes.float8_e5m2}


def bits(x):
    return int(np.float32(x).view(np.uint32))


print("# SPDX-License-Identifier: MIT")
print(f"# ml_dtypes {ml_dtypes.__version__}; written by tests/unit/isa/gen_fp8_golden.py")
for name, dtype in TYPES.items():
    print(f"type {name}")
    codes = np.arange(256, dtype=np.uint8)
    values = codes.view(dtype).astype(np.float32)
    for code, value in zip(codes, values):
        if not np.isnan(value):
            print(f"code {code:02x} {bits(value):08x}")
    finite = np.unique(np.abs(values[np.isfinite(values)]))
    last = finite[-1] - finite[-2]
    halves = np.append((finite[1:] + finite[:-1]) / 2, finite[-1] + last / 2).astype(np.float32)
    points = np.concatenate([halves, np.nextafter(halves, np.float32(0)), np.nextafter(halves, np.float32(np.inf)),
                             np.float32([1e-45, 1e-38, 3.4e38])])
    for x in np.concatenate([points, -points]).astype(np.float32):
        print(f"round {bits(x):08x} {int(x.astype(dtype).view(np.uint8)):02x}")
