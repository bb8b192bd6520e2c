# SPDX-License-Identifier: MIT
"""python -m torch_neuronx operators | glue"""

import sys

from . import glue, operators

if sys.argv[1:] == ["glue"]:
    try:
        print(glue.build())
    except RuntimeError as error:
        sys.exit(str(error))
    sys.exit()
if sys.argv[1:] != ["operators"]:
    sys.exit("""usage: python -m torch_neuronx operators    lists the core ATen operators and where they run
       python -m torch_neuronx glue         builds what PyTorch takes of a device from C++ alone, by g++, for the torch that is installed""")
rows = operators.table()
for name, there, why in rows:
    print(f"{name:52} {there:6} {why}".rstrip())
print(f"{sum(there == 'core' for _, there, _ in rows)} of {len(rows)} run on NeuronCores")
