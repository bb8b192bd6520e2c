#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/unit/nrt/test_ranks
# Programs of four cores on three chips by the module's nodes, where memory keeps what the process had in it before.
export LD_LIBRARY_PATH=/opt/aws/neuron/lib CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent
exec ./test_ranks node inf1 0,1,5,14
