#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge
# later: one
# long:
# copy: tests/vm/driver/driver-rounds
# Resets and killed processes, again and again: nothing is left of them, in the module, in memory and in the kernel's log.
. ./tap.sh

slabs() { awk '/^Slab:|^KernelStack:|^PageTables:/ { n += $2 } END { print n }' /proc/meminfo; }
./driver-rounds 4 10 >/dev/null # what is allocated once
dmesg -c >/dev/null
before=$(slabs)
./driver-rounds 100 1000 >rounds.txt
point $? "a hundred resets by ioctl and by sysfs, a thousand processes killed at work"
sed 's/^/# /' rounds.txt
is "$(dmesg | grep -i neuron)" "" "the kernel's log has nothing of them"
grown=$(($(slabs) - before))
if [ -e /sys/kernel/debug/kmemleak ]; then
    skip "the kernel has no more memory than before" "it keeps what was freed for its checkers, and kmemleak looks"
else
    ok "the kernel has no more memory than before ($grown KiB)" [ $grown -lt 4096 ]
fi
ok "the module goes" unload
done_testing
