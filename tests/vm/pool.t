#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance trn1.32xlarge
# copy: tests/unit/nrt/test_pool
# Constants of a model in the memory of other chips, on the module's nodes: the suite that runs in process; whose the
# memory is by sysfs and neuron-ls; and that a process which is killed leaves none of it, on no chip.
. ./tap.sh

export CK_VERBOSITY=verbose
ok "the suite" ./test_pool node

# constants: those of each chip by sysfs, in bytes
constants() {
    local chip
    for ((chip = 0; chip < 16; chip++)); do
        cat "/sys/devices/virtual/neuron_device/neuron$chip/neuron_core0/stats/memory_usage/device_mem/constants/present"
    done | tr '\n' ' '
}
none="0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
is "$(constants)" "$none" "a suite that ended left nothing"
mkfifo told
CK_VERBOSITY=silent CK_FORK=no ./test_pool node hold >told 2>err &
pid=$!
said=$(grep -m 1 loaded <told)
is "$said" loaded "a model over four chips"
sed 's/^/# /' err
is "$(constants)" "241664 241664 0 241664 241664 0 0 0 0 0 0 0 0 0 0 0 " "each has a constant, in whole pages"
for chip in 0 4; do
    apps=$(neuron-ls --json-output | tr -d ' \n' | sed "s/.*\"neuron_device\":$chip,//; s/\"neuron_device\".*//")
    like "$apps" "\"pid\":$pid," "neuron-ls has the process at nd$chip"
done
kill -KILL $pid
wait $pid
is "$(constants)" "$none" "killed, it leaves none"
done_testing
