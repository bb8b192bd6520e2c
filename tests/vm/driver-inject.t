#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: one
# copy: tests/vm/driver/driver-tool
# data: tests/vm/chip.sh
# The module's failure points, on a kernel that has fault injection: the error is returned, and the next
# try works.
. ./tap.sh
. ./chip.sh

[ -d /sys/kernel/debug/fail_page_alloc ] || mount -t debugfs debugfs /sys/kernel/debug
dir=/sys/kernel/debug/neuron
if [ ! -d $dir ]; then
    skip "failures on command" "this kernel has no fault injection"
    done_testing
    exit
fi
is "$(cd $dir && echo *)" "fail_dma_wait fail_fwio_post_metric fail_fwio_read fail_mc_alloc fail_nc_mmap" \
    "the public driver's entries"
is "$(./driver-tool use 0)" "0 0 0 0" "without failures"

# fails NAME WANTED: the next one fails, WANTED is what each step returns
fails() {
    echo 0 >"$dir/$1/verbose"
    echo 1 >"$dir/$1/times"
    echo 100 >"$dir/$1/probability"
    is "$(./driver-tool use 0)" "$2" "$1"
    echo 0 >"$dir/$1/probability"
    is "$(./driver-tool use 0)" "0 0 0 0" "and then it works"
}
fails fail_nc_mmap "0 -12 0 0"
fails fail_dma_wait "0 0 no-memory 0"
fails fail_fwio_post_metric "0 0 0 -5"
echo 0 >$dir/fail_fwio_read/verbose
echo -1 >$dir/fail_fwio_read/times
echo 100 >$dir/fail_fwio_read/probability
is "$(cat "/sys/class/neuron_device/neuron0/$look" 2>&1)" \
    "cat: read error: Input/output error" "fail_fwio_read"
echo 0 >$dir/fail_fwio_read/probability
is "$(cat "/sys/class/neuron_device/neuron0/$look")" "$looks" "and then it works"
echo 0 >$dir/fail_mc_alloc/verbose
echo 1 >$dir/fail_mc_alloc/times
echo 100 >$dir/fail_mc_alloc/probability
like "$(./driver-tool use 0)" "^-12 " "fail_mc_alloc"
done_testing
