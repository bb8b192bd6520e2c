#!/bin/sh
# SPDX-License-Identifier: MIT
# safetensors 0.8.0 opens files for devices that it has a list of; neuron, for which accelerate 1.15.0, transformers 5.24.0 and diffusers 0.42.1 have code of their
# own, is not among them, though npu, hpu and mlu are: the name is refused before PyTorch is asked. accelerate's load_state loads weights by it onto the device
# of each process when there are several, which then fails.
# usage: safetensors-neuron-device.sh [PYTHON >= 3.10]
set -eu
python=${1:-python3}
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" -m venv "$d/venv"
"$d/venv/bin/pip" -q install --no-deps safetensors==0.8.0 numpy==2.2.6
"$d/venv/bin/pip" -q download --no-deps -d "$d" accelerate==1.15.0
"$d/venv/bin/python" - "$d" <<'PY'
import sys
import zipfile
from pathlib import Path

import numpy
import safetensors
from safetensors.numpy import save_file

home = Path(sys.argv[1])
save_file({"a": numpy.ones(3, numpy.float32)}, home / "x")


def said(device: str) -> str:
    try:
        safetensors.safe_open(home / "x", "pt", device=device)
    except Exception as error:
        return str(error)
    return "taken"


seen = {device: "is invalid" in said(device) for device in ("neuron", "neuron:0", "npu:0", "hpu", "mlu:0", "xpu")}
with zipfile.ZipFile(next(home.glob("accelerate-*.whl"))) as wheel:
    source = wheel.read("accelerate/checkpointing.py").decode()
print(seen, "device=str(map_location)" in source)
raise SystemExit(seen != {"neuron": True, "neuron:0": True, "npu:0": False, "hpu": False, "mlu:0": False, "xpu": False} or "device=str(map_location)" not in source)
PY
