#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host:
# What other people's programs see of neuron-ls, in guests of each instance type.
exec python3 -B "$NEURON_TOP/tests/conformance/neuron_ls.py" guest "$NEURON_BUILD"
