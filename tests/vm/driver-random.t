#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-fuzz
# allows: Call Trace
# ignores: at remove_proc_entry
# tests/vm/driver/fuzz.c while allocations and user copies of its calls fail at random; a kernel that
# can make them fail reports those that it does not expect, and warns when it takes files of an
# interrupt away that it could not make
debug=/sys/kernel/debug
if [ ! -d $debug/failslab ]; then
    echo "1..0 # skip the kernel cannot make allocations fail"
    exit
fi
# the calls that may fail come first: once a probability is set, these writes could fail as well
for kind in $debug/failslab $debug/fail_page_alloc $debug/fail_usercopy; do
    echo Y >"$kind/task-filter"
    echo 0 >"$kind/verbose"
    echo 1000000000 >"$kind/times"
    echo 5 >"$kind/probability"
    [ ! -e "$kind/ignore-gfp-wait" ] || echo N >"$kind/ignore-gfp-wait"
    [ ! -e "$kind/ignore-gfp-highmem" ] || echo N >"$kind/ignore-gfp-highmem"
    [ ! -e "$kind/min-order" ] || echo 0 >"$kind/min-order"
done
exec ./driver-fuzz 8000 7 fail
