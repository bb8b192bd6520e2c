#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn2.3xlarge --qemu-arg=-global --qemu-arg=neuron-trainium2.firmware-version=7
# copy: tests/vm/driver/driver-tool
# monitor:
# Files of health, by errors that are injected and set: counts as the public driver 2.29 makes them of the same words
# (docs/driver.md), who polls them is woken whatever notify_delay is, and anybody reads them.
. ./tap.sh

hardware=/sys/devices/virtual/neuron_device/neuron0/stats/hardware
health=$hardware/health_status
# errors that stay, that can be repaired, of the SRAM, events
counts() { (cd $health && cat hbm_ecc_err_count repairable_hbm_ecc_err_count sram_ecc_err_count hw_error_event | paste -sd' '); }
beat() { cat $health/healthcheck_heartbeat; }
# becomes COMMAND TEXT NAME, moves COMMAND NAME: within a minute
becomes() {
    local tries=0
    until [ "$("$1")" = "$2" ] || [ $((tries++)) -gt 600 ]; do usleep 100000; done
    is "$("$1")" "$2" "$3"
}
moves() {
    local tries=0 before
    before=$("$1")
    until [ "$("$1")" != "$before" ] || [ $((tries++)) -gt 600 ]; do usleep 100000; done
    point $((tries > 600)) "$2"
}
# changed NAME COMMAND: and somebody polls for it
changed() { ok "$1: who polls is woken" ./driver-tool poll "$health/hw_error_event" "$2 >>qmp.txt"; }
export hardware health

qmp_open
set_sensor() { qmp_set chip0 "sensor-$1" "$2"; }
fault() { qmp_set chip0 "fault-$1" "\"$2\""; }
export -f qmp qmp_set set_sensor fault
while grep -qx 0 /sys/devices/virtual/neuron_device/*/reset; do usleep 10000; done

is "$(cd $health && stat -c '%a %n' -- * | paste -sd' ')" "444 hbm_ecc_err_count 444 healthcheck_heartbeat 444 hw_error_event \
444 repairable_hbm_ecc_err_count 444 sram_ecc_err_count 444 unhealthy_components" "files and modes"
is "$(counts)" "0 0 0 0" "no errors"
is "$(cat $health/unhealthy_components)" "" "nothing is unhealthy"
is "$(cat /sys/devices/virtual/neuron_device/neuron0/info/notify_delay)" -1 "notifications of counters are off"

changed "an error of a copy" "fault dram-ecc-uncorrected 1:queue=copy && ./driver-tool copy 0"
is "$(counts)" "1 0 0 1" "it is one of those that stay"
is "$(cat $health/unhealthy_components)" hbm "of this part"
changed "errors that can be repaired" "set_sensor dram3-ecc-repairable 70"
is "$(counts)" "1 70 0 2" "count apart"
changed "a repair that is pending" "set_sensor dram-repair 1"
is "$(counts)" "1 71 0 3" "is one more of them"
changed "a repair that failed" "set_sensor dram-repair 2"
is "$(counts)" "2 70 0 4" "is one more of the others"
changed "errors of the SRAM" "set_sensor sram-ecc-uncorrected 300"
is "$(counts) $(cat $health/unhealthy_components)" "2 70 300 5 hbm,sram" "count and show"
changed "corrected ones" "set_sensor sram-ecc-corrected 5 && set_sensor dram0-ecc-corrected 7 && set_sensor dram2-ecc-corrected 9"
is "$(cat $hardware/sram_ecc_corrected $hardware/mem_ecc_corrected | paste -sd' ')" "5 16" "are sums of their own"
is "$(cat $health/unhealthy_components)" hbm,sram "and nobody's harm"

# both dies have the one reading, and its number goes on with every look
number() { tail -n 1 $hardware/../power/utilization_raw; }
raw() { sed 's/,[0-9]*$//' $hardware/../power/utilization_raw | paste -sd' '; }
set_sensor power 1234 >>qmp.txt
becomes raw "die,util_bips,counter 0,1234 1,1234" "the power of each die"
moves number "its number goes on"
fault power-reading 20000 >>qmp.txt
becomes raw "die,util_bips,counter 0,bogus(20000) 1,bogus(20000)" "what is none is said to be so"
fault power-reading off >>qmp.txt

moves beat "the heart beats"
ok "without an answer of the firmware: who polls is woken" ./driver-tool poll $health/unhealthy_components \
    "fault mailbox-silence always >>qmp.txt"
is "$(cat $health/unhealthy_components) $(raw)" "hbm,sram,firmware_service_api die,util_bips,counter 0,read_error 1,read_error" "it says so"
before=$(beat)
usleep 1500000
is "$(beat)" "$before" "the heart stands"
ok "with one again: who polls is woken" ./driver-tool poll $health/unhealthy_components "fault mailbox-silence off >>qmp.txt"
is "$(cat $health/unhealthy_components)" hbm,sram "it is well"
is "$(su user -c "cat $health/hw_error_event $hardware/../../core_count")" "$(cat $health/hw_error_event)"$'\n'8 "a user reads it, and counts cores"
ok "the module goes" rmmod neuron
done_testing
