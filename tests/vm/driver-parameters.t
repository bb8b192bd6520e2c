#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge
# later: one
# data: tests/data/abi/parameters.txt
# copy: tests/vm/driver/driver-tool
# The module takes every parameter of the public driver, with its default, and has one more.
. ./tap.sh

here=$PWD
cd /sys/module/neuron/parameters || exit 1
wanted=$(echo "abi_level 2.24"; grep -v '^#' "$here"/parameters.txt)
is "$(for name in *; do echo "$name $(cat "$name")"; done)" "$wanted" "names and defaults"
is "$(stat -c %a -- * | sort -u)" 440 "all are read-only"
all=${wanted// /=}
unload
# shellcheck disable=SC2086 # one word each
ok "the module loads with all of them given" modprobe neuron $all
unload
ok "a larger granularity" modprobe neuron mempool_min_alloc_size=65536
is "$("$here"/driver-tool chunk 1)" 65536 "is what a small chunk takes"
unload
for bad in 0 2048 5000 4294967296; do
    point $((! $(modprobe neuron mempool_min_alloc_size=$bad 2>/dev/null; echo $?))) "not $bad"
done
done_testing
