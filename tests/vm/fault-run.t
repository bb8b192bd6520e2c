#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge --fault-port
# copy: tests/unit/neff/testmodel_write tests/vm/driver/driver-events
# data: tests/vm/fault.sh tests/vm/npy.sh
# Faults during an inference: what the daemon answers its client, what the module logs and counts,
# and that the next inference is right. The program is hand-made: c = a + b.
. ./tap.sh
. ./fault.sh
. ./npy.sh

status=/sys/devices/virtual/neuron_device/neuron0/neuron_core0/stats/status

# logged REGEX NAME: the kernel log has it; the module looks at the chip twice a second
logged() {
    local i
    for ((i = 0; i < 1000; i++)); do
        if grep -E "$1" <<<"$(since)" >/dev/null; then break; fi
        usleep 10000
    done
    like "$(since)" "$1" "$2"
}
# strike FAULT CODE DETAIL COUNTER: one inference fails like this, the next one is right
strike() {
    local before after got
    mark
    before=$(cat "$status/$4/total")
    fault nd0 "$1"
    got=$(infer "$id")
    like "$got" "NERR code $2" "$1: NERR $2"
    like "$got" "$3" "$1: and why"
    after=$(cat "$status/$4/total")
    is $((after - before)) 1 "$1: counted as $4"
    rm -f /tmp/out/c.npy
    infer "$id" >/dev/null
    ok "$1: the next inference is right" cmp /tmp/out/c.npy sum.npy
}

addition
daemon --log-console
id=$(neuron-cli load --ncg-id 0 --start --timeout 3 add.neff)
infer "$id" >/dev/null
ok "without a fault" cmp /tmp/out/c.npy sum.npy

strike dma-abort=1:queue=program 1004 'DMA abort' hw_dma_abort_error
is "$(since | grep NEURON_HW_ERR)" "" "which is the program's business, not the kernel log's"
strike dma-hang=1:queue=program 5 'execution timeout' timeout
strike engine-hang 5 'execution timeout' timeout
strike nq-overflow 1004 'notification queue overflow' execute_sw_nq_overflow

strike sram-ecc-uncorrected 6 'uncorrectable error in SBUF or PSUM' hw_nc_ue_error
logged '.* NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR .*' "node-problem-detector's pattern"
strike dram-ecc-uncorrected=1:queue=program 6 'dma engine .*: uncorrectable error in device memory' hw_hbm_ue_error
logged ' NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR .*nd-id=0 nc-id=-1 serial-num=[0-9a-f]{16} ' "with the device and its serial number"

# the module's own copies: of the inputs, and of the output
strike dram-ecc-uncorrected=1:queue=copy 6 'copy: uncorrectable error in device memory' hw_hbm_ue_error
logged 'nd0: DMA of core 0 was aborted' "the module says that it lost a copy"
logged ' NEURON_HW_ERR=DMA_ERROR .*nc-id=0 ' "and whose"
logged ' NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR ' "and why"
strike dma-abort=1:queue=copy 1004 'copy: DMA abort' hw_dma_abort_error
logged ' NEURON_HW_ERR=DMA_ERROR ' "an aborted copy"
strike dma-hang=1:queue=copy 5 "'a': Connection timed out" timeout
logged 'nd0: DMA of core 0 timed out' "a copy that never ends"
logged ' NEURON_HW_ERR=DMA_ERROR ' "is a hardware error too"

# corrected errors disturb nobody
mark
fault nd0 dram-ecc-corrected=2 sram-ecc-corrected=3
rm -f /tmp/out/c.npy
infer "$id" >/dev/null
ok "corrected errors: the sum is right" cmp /tmp/out/c.npy sum.npy
cat /sys/devices/virtual/neuron_device/neuron0/info/link_east >/dev/null # a look at the chip
ecc=$(./driver-events get 0 | grep -oE 'ecc\{[^}]*\}')
like "$ecc" 'memory=0 corrected=3 uncorrected=1 ' "they are counted beside the others: SRAM"
is "$(grep -oE 'memory=[12] corrected=[0-9]+' <<<"$ecc" | sed 's/.*=//' | paste -sd+ | bc)" 2 "and DRAM"
is "$(since | grep -E 'NEURON_HW_ERR|nd0')" "" "and not worth a line in the kernel log"

kill -TERM $pid
wait $pid
is "$?" 0 "the daemon ends as always"
done_testing
