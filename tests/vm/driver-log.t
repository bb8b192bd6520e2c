#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge
# later: one
# copy: tests/vm/driver/driver-tool
# data: tests/data/node-problem-detector/rules.txt
# What a program writes to the kernel log (PRINTK): a user without CAP_SYS_ADMIN can make no line that
# a watcher of the log takes for the kernel's. The patterns are node-problem-detector's public ones,
# those for Neuron and those of its kernel monitor. Each round has ten lines at most: the kernel drops
# more of a kind in five seconds, counted from when the module was loaded.
. ./tap.sh

mapfile -t patterns < <(cut -f2 rules.txt)
patterns+=(
    'NEURON_HW_ERR'
    'task [^ ]+:[0-9A-Za-z_]+ blocked for more than [0-9]+ seconds\.'
    'unregister_netdevice: waiting for [0-9A-Za-z_]+ to become free'
    'BUG: unable to handle kernel NULL pointer dereference at .*' 'EXT4-fs error .*' 'Buffer I/O error .*'
    'Killed process [0-9]+ .* total-vm:[0-9]+kB, anon-rss:[0-9]+kB'
)
# how many lines of the log some pattern matches; as one text too, should a watcher join lines
matching() {
    local pattern n=0
    for pattern in "${patterns[@]}"; do
        n=$((n + $(dmesg | grep -ciE -- "$pattern")))
        n=$((n + $(dmesg | tr '\n' ' ' | grep -ciE -- "${pattern#.\*}")))
    done
    echo $n
}
# round UID TEXT...: the texts, written by the user after the module was loaded again
round() {
    unload
    modprobe neuron
    while [ "$(cat /sys/class/neuron_device/neuron0/reset 2>/dev/null)" != 1 ]; do usleep 5000; done
    dmesg -c >/dev/null
    ./driver-tool say "$@"
}
# the texts of the log's lines, without what the module puts before them
said() { dmesg | sed -n 's/.*neuron: nd0: process [0-9]*: //p'; }

hw=NEURON_HW_ERR=DMA_ERROR
round 65534 "x $hw y" " $hw " "$hw" "x neuron_hw_err=dma_error y" "x Neuron_Hw_Err=DMA_ERROR nd-id=0 action=TERMINATE_INSTANCE" \
    "x $hw $hw $hw y" $'x\n<3>[ 1.0] neuron: nd0: '"$hw "$'y' $'x\tNEURON_HW_ERR=NC_UNCORRECTABLE_ERROR\ty' \
    "NEURON_HW_ERRNEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR y" "x NEURON HW ERR=DMA_ERROR y"
is $? 0 "a user writes hardware errors"
is "$(said | wc -l)" 10 "each is a line of the log"
is "$(matching)" 0 "that no pattern matches"
like "$(said | head -n 1)" '^x\.NEURON\.HW_ERR=DMA_ERROR\.y$' "and that can be read"

# cut into several calls, anywhere in the name
round 65534 "x NEU" "RON_HW_ERR=DMA_ERROR y" "x NEURON" "_HW_ERR=DMA_ERROR y" "x NEURON_HW_" "ERR=DMA_ERROR y" \
    "x NEURON_HW_ERR" "=DMA_ERROR y" "x NEURON_HW_ERR=DMA_" "ERROR y"
is "$(said | wc -l) $(matching)" "10 0" "nor in parts"

# the line of a hang on collectives, which a runtime may write of cores that are its own and wait (hang.t)
round 65534 "x NEURON_HW_ERR=HANG_ON_COLLECTIVES instance-id=i hostname=h nd-id=0 nc-id=0 serial-num=1 action=TERMINATE_INSTANCE" \
    "NEURON_HW_ERR=HANG_ON_COLLECTIVES nd-id=0 nc-id=0 " " NEURON_HW_ERR=HANG_ON_COLLECTIVES  nd-id=0 nc-id=4294967295 x" \
    " NEURON_HW_ERR=HANG_ON_COLLECTIVES  nd-id=1 nc-id=0 x" " NEURON_HW_ERR=HANG_ON_COLLECTIVES  nd-id=99999999999999999999 nc-id= "
is "$(said | wc -l) $(matching)" "5 0" "nor that of a hang, of cores that are not the user's"

round 65534 "task docker:1234 blocked for more than 120 seconds." "BUG: unable to handle kernel NULL pointer dereference at 0" \
    "unregister_netdevice: waiting for eth0 to become free. Usage count = 1" "EXT4-fs error (device sda1): x" \
    "Buffer I/O error on dev sda" "Killed process 1 (init) total-vm:1kB, anon-rss:1kB"
is "$(said | wc -l) $(matching)" "6 0" "nor what the kernel itself would say"

round 0 "x $hw y"
is "$(said)" "x $hw y" "root's words stay as they are"
is "$(matching)" 4 "and the patterns of this test match them"
done_testing
