#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn2.3xlarge
# copy: tests/vm/driver/driver-answers tests/vm/driver/driver-chips tests/vm/driver/driver-notify
# data: tests/vm/module.sh tests/vm/answers.sh tests/data/abi/answers.txt tests/data/abi/answers-trainium2.txt tests/data/abi/answers-2.26.txt tests/data/abi/answers-2.29.txt
# monitor:
# The module on Trainium2: tests/vm/module.sh; errors of memories that can be repaired
. ./module.sh

# recorded of a chip at 00:1e.0; this machine has it at 33:00.0
sed 's/bus 0 slot 30 func/bus 51 slot 0 func/' answers-trainium2.txt >answers-here.txt
module_answers answers-here.txt 7364
module_works

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

module_goes
done_testing
