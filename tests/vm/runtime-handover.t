#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/unit/nrt/test_handover
# From model to model and from owner to owner on the module's nodes: the same results as in process.
export LD_LIBRARY_PATH=/opt/aws/neuron/lib CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent
exec ./test_handover node
