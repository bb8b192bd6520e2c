#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# What a guest sees of the devices: PCI identity, BARs, the emulator's capability, SMBIOS; the module comes
# through udev and the nodes have the mode of the rule.
. ./tap.sh

wanted=
for slot in 1c 1d 1e 1f; do
    wanted+="00:$slot.0 System peripheral [0880]: Amazon.com, Inc. NeuronDevice (Inferentia) [1d0f:7064] (rev 01)"$'\n'
done
is "$(lspci -nn -d 1d0f:)" "${wanted%$'\n'}" "four chips at 00:1c.0 to 00:1f.0"
is "$(cat /sys/class/dmi/id/product_name)" inf1.6xlarge "SMBIOS names the instance"

device=/sys/bus/pci/devices/0000:00:1c.0
is "$(cat $device/subsystem_vendor $device/subsystem_device)" $'0x1d0f\n0x7064' "subsystem ids"
# /sys/.../resource: first, last, flags of each BAR
sizes=$(awk 'NR == 1 || NR == 3 || NR == 5 { print strtonum($2) - strtonum($1) + 1 }' $device/resource 2>/dev/null ||
    while read -r first last _; do echo $((last - first + 1)); done <$device/resource | sed -n '1p;3p;5p')
is "$sizes" $'16777216\n268435456\n8589934592' "BAR0 16 MiB, BAR2 256 MiB, BAR4 8 GiB"
regions=$(lspci -v -s 00:1c.0 | sed -n 's/^\tMemory at [0-9a-f]* //p')
is "$(cut -d' ' -f1-2 <<<"$regions" | tr -d '\n')" "(64-bit, non-prefetchable)(64-bit, non-prefetchable)(64-bit, prefetchable)" \
    "BAR4 alone is prefetchable, all are 64-bit"
like "$(lspci -vvxxx -s 00:1c.0)" 'Vendor Specific Information' "our capability is there"
like "$(lspci -xxx -s 00:1c.0)" '4e 52 55 4e' "and has its magic"

like "$(cat /proc/modules)" '^neuron ' "udev loaded the module"
is "$(readlink $device/driver | sed 's,.*/,,')" neuron "the driver is bound"
is "$(cd /dev && echo neuron*)" "neuron0 neuron1 neuron2 neuron3" "four nodes"
is "$(stat -c '%a %G' /dev/neuron0)" "666 neuron" "mode and group of the rule"
done_testing
