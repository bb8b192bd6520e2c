#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/unit/nrt/test_nrt
# The suite of tests/unit/nrt on the module's nodes: the same results as in process.
export LD_LIBRARY_PATH=/opt/aws/neuron/lib CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent
exec ./test_nrt node
