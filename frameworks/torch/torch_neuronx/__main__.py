# SPDX-License-Identifier: MIT
"""python -m torch_neuronx operators"""

import sys

from . import operators

if sys.argv[1:] != ["operators"]:
    sys.exit("usage: python -m torch_neuronx operators    lists the core ATen operators and where they run")
rows = operators.table()
for name, there, why in rows:
    print(f"{name:52} {there:6} {why}".rstrip())
print(f"{sum(there == 'core' for _, there, _ in rows)} of {len(rows)} run on NeuronCores")
