#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge --fault-port
# later: one
# copy: tests/unit/neff/testmodel_write tests/vm/driver/driver-events tests/vm/driver/driver-tool
# data: tests/vm/fault.sh tests/vm/npy.sh tests/vm/chip.sh tests/data/node-problem-detector/rules.txt
# node-problem-detector's public rules on the kernel log: which of them each fault of a chip matches, and
# that nothing else does. It reads /dev/kmsg and matches the text of each line. An error of SBUF needs a
# program, which the first type alone runs. The rule of collectives is hang.t's.
. ./tap.sh
. ./fault.sh
. ./npy.sh
. ./chip.sh

sys=/sys/devices/virtual/neuron_device/neuron0
# the rules that some line since the mark matches, without their first words
matched() {
    local reason pattern
    while IFS=$'\t' read -r reason pattern; do
        if grep -qE -- "$pattern" <<<"$(since | sed 's/^\[[^]]*\] //')"; then echo "${reason#NeuronHasError_}"; fi
    done <rules.txt | sort | paste -sd' '
}
# watched WANTED NAME: in the time that the module has for two looks at the chip
watched() {
    local i
    for ((i = 0; i < 500; i++)); do
        if [ "$(matched)" = "$1" ]; then break; fi
        usleep 10000
    done
    is "$(matched)" "$1" "$2"
    is "$(since | grep NEURON_HW_ERR | grep -cv 'instance-id=[^ ]* hostname=[^ ]* nd-id=0 nc-id=[-0-9]* serial-num=[0-9a-f]\{16\} action=TERMINATE_INSTANCE')" 0 \
        "$2: each line says which device"
}
reset() { ./driver-events until "reset-ntf index=0 .* stage=[12] " "echo 1 >$sys/reset" >/dev/null; }

while grep -qx 0 $sys/reset; do usleep 10000; done
is "$(wc -l <rules.txt)" 5 "five rules"
dmesg | sed 's/^\[[^]]*\] //' >boot
is "$(cut -f2 rules.txt | grep -cEf - boot)" 0 "a machine that is well matches none"

mark
fault nd0 dma-abort=1:queue=copy
./driver-tool copy 0 >/dev/null 2>&1
watched "DMA_ERROR" "an aborted copy"
mark
fault nd0 dma-hang=1:queue=copy
./driver-tool copy 0 >/dev/null 2>&1
watched "DMA_ERROR" "a copy that never ends"
mark
fault nd0 dram-ecc-uncorrected=1:queue=copy
./driver-tool copy 0 >/dev/null 2>&1
watched "DMA_ERROR HBM_UNCORRECTABLE_ERROR" "an error of device memory in a copy"
mark
fault nd0 dram-ecc-corrected=1:queue=copy
./driver-tool copy 0 >/dev/null 2>&1
cat $sys/stats/hardware/mem_ecc_uncorrected >/dev/null 2>&1 # a look at the chip
is "$(matched)" "" "a corrected error is nobody's business"
mark
fault nd0 reset-hang=always
reset
watched "NC_UNCORRECTABLE_ERROR" "a reset that never ends"
fault nd0 clear
reset
is "$(cat $sys/reset)" 1 "the next one does"

if [ "$links" ]; then
    addition
    run() { neuron-run add.neff --device nd0 --input a=one.npy --input b=two5.npy --output-dir /tmp/out >/tmp/run 2>&1; }
    mark
    fault nd0 sram-ecc-uncorrected
    run
    watched "SRAM_UNCORRECTABLE_ERROR" "an error of SBUF or PSUM"
    mark
    fault nd0 dram-ecc-uncorrected=1:queue=program
    run
    watched "HBM_UNCORRECTABLE_ERROR" "an error of device memory in a program"
    mark
    fault nd0 dma-abort=1:queue=program
    run
    is "$(matched)" "" "a program's own queue that stops is the program's business"
    ok "the next execution is right" run
fi
done_testing
