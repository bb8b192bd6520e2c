#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: one
# copy: tests/vm/driver/driver-events
# copy: tests/vm/driver/driver-tool
# data: tests/vm/chip.sh
# monitor:
# When the module waits in vain: an event, a dump with the chip's state, and a chip that
# works again. Faults are injected from outside, through QEMU's monitor.
. ./tap.sh
. ./chip.sh

neuron=/sys/devices/virtual/neuron_device/neuron0
bdf=$(address 0)

# events NAME REGEX COMMAND: the events of COMMAND, up to one like REGEX, into $got
events() {
    local status=0
    got=$(./driver-events until "$2" "$3") || status=$?
    point "$status" "$1"
    if [ "$status" -ne 0 ]; then printf '%s\n' "$got" | sed 's/^/#   /'; fi
}

fault() { qmp_set chip0 "fault-$1" "\"$2\""; }
export -f fault qmp qmp_set

qmp_open
is "$(./driver-tool copy 0 | tail -n 1)" copied "a copy"
is "$(./driver-tool dump $neuron/hang_dump)" "no dump" "no dump before there was a hang"

ok "a descriptor that is never done" fault dma-hang 1
events "a copy that does not end" 'hang-ntf' './driver-tool copy 0 >copy.log'
pid=$(head -n 1 copy.log)
is "$(tail -n 1 copy.log)" "Connection timed out" "the process is told"
like "$got" "^hang-ntf index=0 bdf=$bdf state=1 hang\{ reason=0 cores=1 engine=$copy_engine queue=$copy_queue pid=$pid dump=1 \}" \
    "listeners are, too"
dump=$(./driver-tool dump $neuron/hang_dump)
# before anything that takes time: the kernel forgets its own after five minutes
if [ -d /sys/class/devcoredump ]; then
    core=$neuron/device/devcoredump
    is "$(./driver-tool dump "$core/data")" "$dump" "the device coredump is the same"
    echo 0 >"$core/data"
else
    skip "the device coredump is the same" "this kernel has none"
fi
like "$dump" "^header id=1 index=0 bdf=$bdf state=1 reason=0 cores=0x1 engine=$copy_engine queue=$copy_queue pid=$pid error=110 flags=0 driver=2.24.7.0" \
    "the dump says what it is of"
like "$dump" "^queue engine=$copy_engine queue=$copy_queue pid=0 tx\{status=0x[1-9a-f]" "the copy queue has descriptors that are not done"
is "$(grep -c '^queue ' <<<"$dump")" "$cores" "the copy queues of all cores, and no others"
like "$dump" "^word $ready$" "the status word: ready"
is "$(grep -c '^core .*semaphores=32' <<<"$dump")" "$cores" "the cores with their semaphores"
like "$dump" "^process pid=$pid flags=0 files=1" "who was attached"
is "$(./driver-tool copy 0 | tail -n 1)" copied "the next copy works"
is "$(stat -c %a $neuron/hang_dump)" 600 "the dump is root's"
ok "poll() tells of a dump" ./driver-tool poll $neuron/reset "echo 1 >$neuron/reset"
echo >$neuron/hang_dump
is "$(./driver-tool dump $neuron/hang_dump)" "no dump" "a write forgets it"
# a kernel that releases objects late has the link of the first one's coredump for seconds
while [ -e $neuron/device/devcoredump ]; do usleep 10000; done

ok "a reset that does not begin" fault reset-hang always
events "does not end" 'hang-ntf' "echo 1 >$neuron/reset"
like "$got" '^reset-ntf index=0 .*state=2 reset\{ stage=2 cores=4294967295 duration=[0-9]+ error=110 \}' "it failed"
like "$got" '^hang-ntf index=0 .*state=2 hang\{ reason=1 cores=4294967295 dump=2 \}' "it hangs"
is "$(./driver-tool copy 0 | tail -n 1)" "Invalid argument" "the chip is not to be had"
fault reset-hang off
events "until a reset works" 'stage=1' "echo 1 >$neuron/reset"
is "$(./driver-tool copy 0 | tail -n 1)" copied "then it is"

# a process that ends leaves its core halted: what the first try does not, the one behind its queues does
halves() {
    fault reset-hang always
    events "a core that does not halt" 'hang-ntf' './driver-tool own 1 >own.log &'
    fault reset-hang off
    is "$(./driver-tool copy 0 | tail -n 1)" copied "the next process waits for its end"
}
echo >$neuron/hang_dump
halves
like "$got" '^hang-ntf index=0 .* hang\{ reason=2 cores=2 .*dump=' "listeners are told which"
like "$(./driver-tool dump $neuron/hang_dump)" '^core core=1 .*semaphore3=77' "it went on"
for ((i = 0; i < 5 && $(./driver-tool semaphore 1) != 0; i++)); do halves; done
is "$(./driver-tool semaphore 1)" 0 "and is halted once it lets itself be"

fault mailbox-silence always
events "a firmware that says nothing" 'hang-ntf index=0 .*reason=3' true
like "$(./driver-tool dump $neuron/hang_dump)" '^header id=[0-9]+ .*reason=3 cores=0xffffffff .*error=110 flags=1 ' \
    "a dump without registers"
fault mailbox-silence off
ok "it goes on" cat "$neuron/$look"
is "$(./driver-tool copy 0 | tail -n 1)" copied "and copies"
done_testing
