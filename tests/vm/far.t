#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn1.32xlarge
# copy: tests/unit/ndl/test_ndl_far
# Memory of the instance on the module's nodes: each of two chips copies into the memory of the
# fifteen others and out of it.
export LD_LIBRARY_PATH=/opt/aws/neuron/lib CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent
exec ./test_ndl_far node
