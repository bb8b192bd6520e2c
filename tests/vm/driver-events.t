#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-events
# data: tests/vm/chip.sh
# monitor:
# The generic-netlink family: what it answers, and an event for each thing that happens. The chip's
# counters are set from outside, through QEMU's monitor.
. ./tap.sh
. ./chip.sh

sys=/sys/devices/virtual/neuron_device
drv=/sys/bus/pci/drivers/neuron

# events NAME REGEX COMMAND: the events of COMMAND, up to one like REGEX, into $got
events() {
    local status=0
    got=$(./driver-events until "$2" "$3") || status=$?
    point "$status" "$1"
    if [ "$status" -ne 0 ]; then printf '%s\n' "$got" | sed 's/^/#   /'; fi
}

while grep -qx 0 $sys/*/reset; do usleep 10000; done
cat $sys/*/"$look" >/dev/null # a look at each chip
one=$(address 1) two=$(address 2) three=$(address 3)
all=$(./driver-events get)
is "$(wc -l <<<"$all")" "$chips" "a line for each device"
like "$all" "^device-get index=3 bdf=$three state=1 architecture=$arch core-count=$cores" "what a device is"
like "$all" "index=0 .* core-count=$cores${links:+ link\{ side=0 up=1 \} link\{ side=1 up=0 \}} ecc\{ memory=0 corrected=0 uncorrected=0 \}" \
    "the links of the first, if registers tell of them, and its memories"
is "$(sed -n 1p <<<"$all" | grep -o ' ecc{' | wc -l)" "$((1 + memories))" "SRAM, and each of its own"
is "$(./driver-events get 2)" "$(sed -n 3p <<<"$all")" "one device alone"
is "$(./driver-events get "$chips" 2>&1)" "driver-events: No such device" "one that is not there"
is "$(./driver-events get 4294967295 2>&1)" "driver-events: No such device" "nor the last number"
cp driver-events /tmp
is "$(su user -c "/tmp/driver-events get")" "$all" "an ordinary user may ask"

events "a reset" 'index=1 .* reset\{ stage=1 ' "echo 1 >$sys/neuron1/reset"
like "$got" '^reset-ntf index=1 bdf='"$one"' state=1 reset\{ stage=0 cores=4294967295 \}' "its start"
like "$got" '^reset-ntf index=1 bdf='"$one"' state=1 reset\{ stage=1 cores=4294967295 duration=[0-9]+ \}' "its end"

qmp_open
set_sensor() { qmp_set "$1" "sensor-$2" "$3"; }
export -f qmp qmp_set set_sensor
events "corrected errors" 'ecc-ntf index=2 ' 'set_sensor chip2 dram1-ecc-corrected 7'
like "$got" 'bdf='"$two"' state=1 ecc\{ memory=2 corrected=7 uncorrected=0 new-corrected=7 new-uncorrected=0 \}' "all of them are new"
events "uncorrected ones" 'ecc-ntf index=2 ' 'set_sensor chip2 dram1-ecc-uncorrected 2'
like "$got" 'ecc\{ memory=2 corrected=7 uncorrected=2 new-corrected=0 new-uncorrected=2 \}' "only these are"
like "$(./driver-events get 2)" 'ecc\{ memory=2 corrected=7 uncorrected=2 \}' "the answer has them too"

events "a device that goes" 'device-del-ntf index=1 ' "echo $one >$drv/unbind"
like "$got" "bdf=$one state=1 architecture=$arch core-count=$cores" "and which it was"
is "$(./driver-events get | grep -c .)" "$((chips - 1))" "the others are left"
is "$(./driver-events get 1 2>&1)" "driver-events: No such device" "it is not there"
events "one that comes" 'reset-ntf index=1 .* stage=1 ' "echo $one >$drv/bind"
is "$(grep -o '^[a-z-]* index=1' <<<"$got" | tr '\n' ' ')" \
    "device-add-ntf index=1 reset-ntf index=1 reset-ntf index=1 " "added, reset begins, ready"
if [ "$links" ]; then
    events "an empty slot beside a chip" 'link-ntf index=0 .*side=0 up=0' \
        'qmp "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"chip1\"}}"'
else
    skip "an empty slot beside a chip" "no register of this chip tells of its links"
fi
ok "rmmod" unload
is "$(./driver-events get 2>&1 | head -c 29)" "driver-events: family neuron:" "the family goes with the module"
ok "modprobe" modprobe neuron
done_testing
