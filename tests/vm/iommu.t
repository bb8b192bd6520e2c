#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge --machine q35 --memory 768M --qemu-arg=-device --qemu-arg=intel-iommu,intremap=off
# copy: tests/vm/driver/driver-copies
# copy: tests/vm/driver/driver-notify
# copy: tests/vm/driver/driver-tool
# Behind an IOMMU, with each kind of domain that the kernel has for the chip: host memory is the program's own pages,
# and copies, zero-copy and notification queues are right. (vm/hotplug plugs behind one, vm/bounce has bounce buffers.)
. ./tap.sh

driver=/sys/bus/pci/drivers/neuron
device=$(basename "$(ls -d $driver/0000:*)")
group=$(readlink -f $driver/"$device"/iommu_group)

# bound TYPE: the chip, let go of and taken again with another kind of domain. False: the kernel has no other for it
bound() {
    local done=0
    echo "$device" >$driver/unbind
    echo "$1" >"$group/type" || done=1
    echo "$device" >$driver/bind
    until [ -e /dev/neuron0 ]; do usleep 10000; done
    return $done
}

guarded() { dmesg | grep -c 'nd0: behind an IOMMU: queues are not guarded'; }

# works NAME KILLS
works() {
    is "$(./driver-tool use 0)" "0 0 0 0" "$1: a program's host memory, its mapping, a copy"
    ./driver-copies "$2" >copies.txt
    point $? "$1: copies by queues, in batches, zero-copy, killed at it"
    grep '^not ok' copies.txt | sed 's/^/# /'
    ok "$1: notification queues" env LD_LIBRARY_PATH=/opt/aws/neuron/lib ./driver-notify
}

like "$(cat "$group/type")" '^DMA(-FQ)?$' "the kernel translates the chip's addresses"
is "$(guarded)" 1 "which the log says"
works "as booted" 4
if ! bound DMA && [ -e /sys/kernel/debug/kmemleak ]; then
    skip "other kinds of domain" "the debug kernel has other devices in the chip's group"
else
    is "$(cat "$group/type")" DMA "a domain that is flushed at once"
    works "flushed at once" 1
    before=$(guarded)
    bound identity
    works identity 1
    is "$(guarded)" "$before" "with the pages' own addresses queues are guarded"
fi
# (what the copies' tests mean to be refused is logged too, and is no access of the chip's)
is "$(dmesg | grep -E 'DMAR: .*fault|bounce|NEURON_HW_ERR|DMA of core|did not (halt|answer)|device memory was not')" "" \
    "no access went wrong"
ok "the module goes" unload
done_testing
