#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# data: tests/vm/chip.sh tests/data/abi/sysfs-tree.txt tests/data/abi/sysfs-tree-later.txt
# copy: tests/vm/driver/driver-tool
# The whole sysfs tree against the recorded one of the public driver: every file and mode, but for two that later
# releases let everybody read, and what later ones or only this module have; and what sysfs.t does not check.
. ./tap.sh
. ./chip.sh

here=$PWD
cd /sys/devices/virtual/neuron_device/neuron0 || exit 1
# what the first chip's core 0 has each core has; power/ is the kernel's, and not the same in all kernels
recorded=$(cat "$here"/sysfs-tree.txt)
if [ ! "$links" ]; then recorded+=$'\n'$(cat "$here"/sysfs-tree-later.txt); fi
wanted=$(grep -v -e '^#' -e ' ./power/' -e ' ./neuron_core' <<<"$recorded"; echo '600 ./hang_dump'
    for ((i = 0; i < cores; i++)); do sed -n "s, ./neuron_core0/, ./neuron_core$i/,p" <<<"$recorded"; done
    if [ "$links" ]; then echo '444 ./info/link_east'; echo '444 ./info/link_west'; fi
    echo '644 ./stats/power/utilization_raw'
    if [ ! "$links" ]; then printf '644 ./stats/hardware/%s_ecc_corrected\n' sram mem; fi
    if [ "$memories" -gt 2 ]; then
        printf '444 ./stats/hardware/health_status/%s\n' {repairable_hbm,hbm,sram}_ecc_err_count hw_error_event \
            unhealthy_components healthcheck_heartbeat
    fi)
wanted=$(sed -E 's,^400 (\./(core_count|connected_devices))$,444 \1,' <<<"$wanted")
is "$(find . -path ./power -prune -o -type f -exec stat -c '%a %n' {} + | sort)" "$(sort <<<"$wanted")" "files and modes"
is "$(od -An -c core_count | tr -d ' ')" "$cores" "core_count has no newline"
like "$(lspci -n -s "$(basename "$(readlink -f device)")")" " 0880: 1d0f:7[0-9]64 " "a link to the PCI device"
is "$(cat /sys/class/neuron_device/node_id_4)" -1 "no node id"
is "$(cat /sys/class/neuron_device/server_id_2)" 0000000000000000 "no server id"
echo 0 >info/notify_delay
is "$(cat info/notify_delay)" 0 "notify_delay can be set"
is "$(cat neuron_core0/stats/other_info/reset_req_count/total)" 1 "one reset so far"
echo 1 >reset
is "$(cat reset)" 1 "another one by sysfs"
counter=neuron_core1/stats/other_info/reset_req_count/total
ok "poll() tells of a counter that changed" "$here"/driver-tool poll $counter 'echo 1 >reset'
is "$(cat $counter)" 3 "and here it is"
ok "it tells of the one after it" "$here"/driver-tool poll $counter 'echo 1 >reset'
if [ -d /sys/class/hwmon ]; then
    hwmon=$(echo device/hwmon/hwmon*)
    is "$(cat "$hwmon/name") $(cat "$hwmon/power1_label")" "neuron utilization" "hwmon has the power reading"
    while ! power=$(cat "$hwmon/power1_utilization" 2>/dev/null); do usleep 10000; done
    like "$power" '^[0-9]+$' "in thousandths of a per cent"
else
    skip "hwmon has the power reading" "this kernel has no hwmon"
    skip "in thousandths of a per cent" "this kernel has no hwmon"
fi
total=$(cat ../neuron*/neuron_core*/stats/memory_usage/device_mem/total | sort -u)
is "$total" 0 "no device memory is in use"
done_testing
