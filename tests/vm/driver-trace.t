#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-tool
# data: tests/vm/chip.sh
# What the module reports: tracepoints, and a line in the kernel log for all that it refuses.
. ./tap.sh
. ./chip.sh

tracing=/sys/kernel/tracing
mount -t tracefs tracefs $tracing
is "$(cd $tracing/events/neuron && for e in */; do echo "${e%/}"; done | sort | tr '\n' ' ')" \
    "bar_read bar_write dma_ack_completed dma_desc_copy dma_engine_init dma_memcpy dma_queue_copy_start dma_queue_init dma_queue_release ecc fwio hang ioctl ioctl_mem_alloc ioctl_mem_copy ioctl_mem_copyin ioctl_mem_copyout ioctl_mem_free link metrics_post process reset " \
    "the public driver's tracepoints, and ours"
echo 1 >$tracing/events/neuron/enable
pid=$(./driver-tool copy 2 | head -n 1)
echo 1 >/sys/class/neuron_device/neuron1/reset
while ! grep 'reset: nd1 stage 1' $tracing/trace >/dev/null; do usleep 10000; done
echo 0 >$tracing/events/neuron/enable
trace=$(grep "driver-tool-$pid " $tracing/trace | sed -E 's/.*: ([a-z_]+: )/\1/')
is "$(grep -vE 'fwio|dma_queue_release' <<<"$trace")" "process: nd2 pid $pid attached
ioctl_mem_alloc: nd2 handle 1 address $small size 4096 device
ioctl: nd2 cmd 0x80384e66 nr 102 result 0
ioctl_mem_copyin: nd2 handle 1 offset 0x0 size 4096
dma_memcpy: nd2 core 0 context 0 descriptors 1
ioctl: nd2 cmd 0xc0284e18 nr 24 result 0
ioctl_mem_copyout: nd2 handle 1 offset 0x0 size 4096
dma_memcpy: nd2 core 0 context 0 descriptors 1
ioctl: nd2 cmd 0xc0284e18 nr 24 result 0
process: nd2 pid $pid gone" "what a process did"
is "$(grep -oE 'reset: nd1.*' $tracing/trace | tr '\n' ' ')" \
    "reset: nd1 stage 0 cores 0xffffffff error 0 reset: nd1 stage 1 cores 0xffffffff error 0 " "a reset"

dmesg -c >/dev/null
out=$(./driver-tool refused 3)
pid=$(head -n 1 <<<"$out")
is "$(tail -n +2 <<<"$out" | tr '\n' ' ')" "-22 -22 -22 -22 " "what is refused"
is "$(dmesg | sed -E 's/^[^]]*\] //')" \
    "neuron: nd3: driver-tool[$pid]: MEM_FREE refused (-22): no such handle, a value out of range, or the chip is not ready
neuron: nd3: driver-tool[$pid]: MEM_FREE refused (-22): no such handle, a value out of range, or the chip is not ready
neuron: nd3: driver-tool[$pid]: an unknown ioctl refused (-22): no such handle, a value out of range, or the chip is not ready
neuron: nd3: driver-tool[$pid]: mmap refused (-22): no such handle, a value out of range, or the chip is not ready" \
    "names the device, the process and the reason"
for _ in 1 2 3 4 5 6 7 8 9; do ./driver-tool refused 3 >/dev/null; done
lines=$(dmesg | grep -c 'refused')
ok "many in a row are not all logged" [ "$lines" -lt 40 ]
done_testing
