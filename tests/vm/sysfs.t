#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# data: tests/vm/chip.sh
# The module's sysfs tree as other people's programs read it: every leaf they open is there and has
# the form they parse; a write clears a counter.
. ./tap.sh
. ./chip.sh

root=/sys/devices/virtual/neuron_device
node=$root/neuron0

# of the instance: its chips, the names of one, the neighbours of the first four as the public driver tells them
case $(cat $node/device/device) in
0x7064) wanted=4 names="Inferentia NDv1 Inf1 NCv1" neighbours=$'1\n2, 0\n3, 1\n2' ;;
0x7164) wanted=16 names="Trainium1 NDv2 Trn1 NCv2" neighbours=$'12, 3, 4, 1\n13, 0, 5, 2\n14, 1, 6, 3\n15, 2, 7, 0' ;;
0x7264) wanted=6 names="Inferentia2 NDv3 Inf2 NCv2" neighbours=$'1\n0, 2\n1, 3\n2, 4' ;;
0x7364) wanted=16 names="Trainium2 NDv3 Trn2 NCv3" neighbours=$'12, 1, 3, 4\n0, 13, 5, 2\n14, 3, 1, 6\n2, 15, 7, 0' ;;
esac
read -r product device_arch family core_arch <<<"$names"
nodes=$(for ((i = 0; i < wanted; i++)); do echo neuron$i; done | sort)
listed() { (cd "$1" && printf '%s\n' neuron* | sort); }

is "$(listed $root)" "$nodes" "one directory for each device"
is "$(listed /sys/class/neuron_device)" "$nodes" "the class lists them"
like "$(cat /proc/devices)" '[0-9]+ neuron' "/proc/devices names the major number"
like "$(cat /sys/module/neuron/version)" '^[0-9.]+' "the module has a version"
is "$(listed /dev)" "$nodes" "nothing else in /dev is called so"

# a framework counts the nodes of that major number, whatever they are called
major=$(awk '$2 == "neuron" { print $1 }' /proc/devices)
count=0
for file in /dev/*; do
    [ ! -c "$file" ] || [ "$((16#$(stat -c %t "$file")))" != "$major" ] || count=$((count + 1))
done
is "$count" "$wanted" "as many character devices have it as there are chips"

# a scheduler's list of links: at most 99 bytes, ", " between ids, the higher neighbour first
is "$(cat $root/neuron[0-3]/connected_devices)" "$neighbours" "connected_devices"
is "$(cat $node/core_count)" "$cores" "core_count"
is "$(stat -c %a $node/connected_devices $node/core_count $node/reset | tr '\n' ' ')" "444 444 600 " "everybody counts and lists, root alone resets"
if [ "$links" ]; then
    is "$(cat $root/neuron[0-3]/info/link_east $root/neuron[0-3]/info/link_west | tr -d '\n')" 11100111 "link flags"
    is "$(stat -c %a $node/info/link_east)" 444 "link flags are read-only"
else
    skip "link flags" "no register of this chip tells of its links"
fi

is "$(cat $node/info/architecture/device_name)" "$product" "device_name"
is "$(cat $node/info/architecture/arch_type)" "$device_arch" "arch_type"
is "$(cat $node/info/architecture/instance_type)" "$family" "instance_type"
is "$(cat $node/neuron_core0/info/architecture/arch_type)" "$core_arch" "the core's arch_type"
is "$(cat $node/info/notify_delay)" -1 "notifications are off at first"

# counters are directories; each leaf is a decimal number
missing=
for kind in application_memory constants dma_buffers dma_rings driver_memory notifications tensors uncategorized; do
    for leaf in total present peak; do
        grep -qE '^[0-9]+$' "$node/stats/memory_usage/host_mem/$kind/$leaf" || missing+=" host_mem/$kind/$leaf"
    done
done
for ((core = 0; core < cores; core++)); do
    stats=$node/neuron_core$core/stats
    for kind in model_code tensors constants model_shared_scratchpad runtime_memory driver_memory \
        collectives nonshared_scratchpad notifications dma_rings uncategorized .; do
        for leaf in total present peak; do
            grep -qE '^[0-9]+$' "$stats/memory_usage/device_mem/$kind/$leaf" || missing+=" device_mem/$kind/$leaf"
        done
    done
    for name in total present peak; do
        grep -qE '^[0-9]+$' "$stats/memory_usage/host_mem/$name" || missing+=" host_mem/$name"
    done
    for name in success failure timeout exec_bad_input hw_error execute_completed_with_error \
        execute_completed_with_num_error generic_error resource_error resource_nc_error \
        execute_failed_to_queue invalid_error unsupported_neff_version oob_error; do
        for leaf in total present; do
            grep -qE '^[0-9]+$' "$stats/status/$name/$leaf" || missing+=" status/$name/$leaf"
        done
    done
    for name in model_load_count reset_req_count reset_fail_count inference_count flop_count nc_time_in_use; do
        grep -qE '^[0-9]+$' "$stats/other_info/$name/total" || missing+=" other_info/$name/total"
    done
done 2>/dev/null
is "$missing" "" "every counter is there and decimal"

counter=$node/neuron_core0/stats/other_info/reset_req_count/total
echo 7 >$counter
is "$(cat $counter)" 0 "a write clears a counter"

# five fields, the last three numbers, as a collector splits them
like "$(cat $node/stats/power/utilization)" '^POWER_STATUS_[A-Z_]+,[0-9]+,[0-9]+\.[0-9][0-9],[0-9]+\.[0-9][0-9],[0-9]+\.[0-9][0-9]$' \
    "the power line"

is "$(su user -c "cat $node/info/architecture/device_name $node/core_count $node/connected_devices" 2>&1)" \
    "$product"$'\n'"$cores${neighbours%%$'\n'*}" "a user reads info, the number of cores and the neighbours"
done_testing
