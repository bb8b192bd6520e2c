#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: one
# copy: tests/vm/driver/driver-faults
# allows: Call Trace
# ignores: at remove_proc_entry
# tests/vm/driver/faults.c; a kernel that can make allocations fail reports those that it does not
# expect, and warns when it takes files of an interrupt away that it could not make
for kind in failslab fail_page_alloc; do
    settings=/sys/kernel/debug/$kind
    [ -d $settings ] || continue
    echo 0 >$settings/verbose
    echo N >$settings/ignore-gfp-wait
    [ ! -e $settings/min-order ] || echo 0 >$settings/min-order
    [ ! -e $settings/ignore-gfp-highmem ] || echo N >$settings/ignore-gfp-highmem
done
for settings in /sys/kernel/debug/neuron/fail_*; do
    [ ! -d "$settings" ] || echo 0 >"$settings/verbose"
done
[ ! -d /sys/kernel/debug/fail_usercopy ] || echo 0 >/sys/kernel/debug/fail_usercopy/verbose
exec ./driver-faults
