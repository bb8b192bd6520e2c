#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn2.3xlarge
# copy: tests/vm/driver/driver-answers
# copy: tests/vm/driver/driver-chips
# copy: tests/vm/driver/driver-notify
# data: tests/vm/answers.sh
# data: tests/data/abi/answers.txt
# data: tests/data/abi/answers-2.26.txt
# data: tests/data/abi/answers-trainium2.txt
# monitor:
# The module on Trainium2: every ioctl's answer as recorded under the public driver, except for the
# differences that answers-trainium2.txt lists with their reasons; copies, mappings, resets.
. ./tap.sh
. ./answers.sh

./driver-answers used >used.txt
point $? "what a client asks when nothing is wrong"
is "$(dmesg | grep -iE 'neuron.*(fail|error|invalid|timeout)' | grep -v 'module verification')" "" \
    "leaves no error in the kernel log"
./driver-answers refused >refused.txt
point $? "what has to be refused"
./driver-answers later >later.txt
point $? "what came after 2.24"
# recorded of a chip at 00:1e.0; this machine has it at 33:00.0
cat answers.txt <(sed 's/bus 0 slot 30 func/bus 51 slot 0 func/' answers-trainium2.txt) <(later_table 7364 <answers-2.26.txt) >table.txt
answers table.txt used.txt refused.txt later.txt

./driver-chips >chips.txt
point $? "copies, mappings, filling, resets"
grep '^not ok' chips.txt | sed 's/^/# /'
ok "libndl's notification queues are in their slots" env LD_LIBRARY_PATH=/opt/aws/neuron/lib ./driver-notify

# Firmware before version 6 counts all errors together; the state of repairs says which they are
hardware=/sys/devices/virtual/neuron_device/neuron0/stats/hardware
qmp_open
set_sensor() { qmp_set chip0 "sensor-$1" "$2"; }
errors() { echo "$(cat $hardware/sram_ecc_uncorrected) $(cat $hardware/mem_ecc_uncorrected) $(cat $hardware/mem_ecc_repairable_uncorrected)"; }
set_sensor sram-ecc-uncorrected 3 >qmp.txt
set_sensor dram0-ecc-uncorrected 20 >>qmp.txt
set_sensor dram3-ecc-repairable 5 >>qmp.txt
is "$(errors)" "3 25 0" "errors of memories"
set_sensor dram-repair 1 >>qmp.txt
is "$(errors)" "3 0 25" "while a repair is pending they can be repaired"
set_sensor dram-repair 2 >>qmp.txt
is "$(errors)" "3 25 0" "and not when it failed"

rmmod neuron
point $? "the module goes"
is "$(ls /dev/neuron* 2>/dev/null)" "" "with its nodes"
done_testing
