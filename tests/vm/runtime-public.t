#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/unit/nrt/test_nrt_ndl
# The public driver library, datastore and topology functions of libnrt on the module's nodes.
export LD_LIBRARY_PATH=/opt/aws/neuron/lib CK_TAP_LOG_FILE_NAME=- CK_VERBOSITY=silent NEURON_RT_LOG_LEVEL=QUIET
exec ./test_nrt_ndl node inf1.6xlarge
