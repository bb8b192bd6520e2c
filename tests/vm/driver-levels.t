#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn2.3xlarge --qemu-arg=-global --qemu-arg=neuron-trainium2.firmware-version=7
# copy: tests/vm/driver/driver-answers tests/vm/driver/driver-tool
# data: tests/vm/answers.sh tests/data/abi/answers.txt tests/data/abi/answers-trainium2.txt tests/data/abi/answers-2.26.txt
# data: tests/data/abi/answers-2.29.txt
# The module as each release of the public driver: its version, the ioctls that it has and those that it has not, its errno.
. ./tap.sh
. ./answers.sh

version() { cat /sys/module/neuron/version; }
started() { dmesg | grep -o 'Started with Version:.*' | tail -n 1; }

is "$(version)" 2.24.7.0 "as loaded"
sed 's/bus 0 slot 30 func/bus 51 slot 0 func/' answers-trainium2.txt >answers-here.txt
later_table 7364 <answers-2.26.txt >later.txt
for level in 2.24:2.24.7.0 2.27:2.27.4.0 2.28:2.28.0.0 2.29:2.29.0.0; do
    unload
    ok "level ${level%:*}" modprobe neuron abi_level=${level%:*}
    is "$(version) $(started)" "${level#*:} Started with Version:${level#*:}" "its version"
    while grep -qx 0 /sys/devices/virtual/neuron_device/*/reset; do usleep 10000; done
    ./driver-answers newest >newest.txt
    point $? "what came after 2.26"
    level_table "${level%:*}" <answers-2.29.txt | asked newest.txt >table.txt
    answers table.txt newest.txt
done
# the rest of what is refused, at the newest level
./driver-answers refused >refused.txt
point $? "what has to be refused"
cat answers.txt answers-here.txt later.txt <(level_table 2.29 <answers-2.29.txt) | asked refused.txt >table.txt
answers table.txt refused.txt
unload
for bad in 2.25 2.3 ''; do
    point $((! $(modprobe neuron "abi_level=$bad" 2>/dev/null; echo $?))) "no level '$bad'"
done
like "$(dmesg | grep abi_level= | tail -n 1)" 'abi_level=: one of 2.24, 2.27, 2.28, 2.29' "which the log says"
done_testing
