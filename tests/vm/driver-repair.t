#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn2.3xlarge --qemu-arg=-global --qemu-arg=neuron-trainium2.firmware-version=7
# copy: tests/vm/driver/driver-events
# monitor:
# Firmware from version 6 on tells errors of memories that it can repair apart from the others: files
# of sysfs, as under public drivers that know it (2.25 and later), and events.
. ./tap.sh

hardware=/sys/devices/virtual/neuron_device/neuron0/stats/hardware
errors() { echo "$(cat $hardware/sram_ecc_uncorrected) $(cat $hardware/mem_ecc_uncorrected) $(cat $hardware/mem_ecc_repairable_uncorrected)"; }

qmp_open
set_sensor() { qmp_set chip0 "sensor-$1" "$2"; }
export -f qmp qmp_set set_sensor
while grep -qx 0 /sys/devices/virtual/neuron_device/*/reset; do usleep 10000; done
is "$(errors)" "0 0 0" "none"
set_sensor sram-ecc-uncorrected 300 >qmp.txt
is "$(errors)" "300 0 0" "the SRAM's word is as before"
got=$(./driver-events until 'ecc-ntf' 'set_sensor dram1-ecc-uncorrected 2')
point $? "an event"
like "$got" 'ecc\{ memory=2 corrected=0 uncorrected=2 new-corrected=0 new-uncorrected=2 \}' "of errors that stay"
is "$(errors)" "300 2 0" "which count as such"
got=$(./driver-events until 'ecc-ntf' 'set_sensor dram3-ecc-repairable 70')
point $? "an event"
like "$got" 'ecc\{ memory=4 corrected=0 uncorrected=70 new-corrected=0 new-uncorrected=70 \}' "of errors that can be repaired"
is "$(errors)" "300 2 70" "which count apart"
set_sensor dram1-ecc-repairable 7 >>qmp.txt
set_sensor dram3-ecc-uncorrected 90 >>qmp.txt
is "$(errors)" "300 17 77" "a word has room for fifteen"
set_sensor dram-repair 1 >>qmp.txt
is "$(errors)" "300 17 77" "while a repair is pending"
set_sensor dram-repair 2 >>qmp.txt
is "$(errors)" "300 17 77" "and when it failed"
set_sensor dram1-ecc-uncorrected 0 >>qmp.txt
set_sensor dram3-ecc-uncorrected 0 >>qmp.txt
is "$(errors)" "300 0 0" "a state without errors that stay is none"
ok "the module goes" rmmod neuron
done_testing
