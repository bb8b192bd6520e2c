#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge --fault-port
# later: one
# copy: tests/vm/driver/driver-refused tests/vm/driver/driver-tool
# data: tests/vm/fault.sh tests/vm/chip.sh
# A line in the kernel log for all that is refused, which names the device, the process and the reason:
# every ioctl, and what else a program may ask for. The kernel keeps ten lines of a kind in five seconds,
# counted from when the module was loaded; so it is loaded again for the next ten.
. ./tap.sh
. ./fault.sh
. ./chip.sh

node=/sys/class/neuron_device/neuron0
bdf=$(address 0)
ready() { while [ "$(cat $node/reset 2>/dev/null)" != 1 ]; do usleep 5000; done; }
reload() {
    unload
    modprobe neuron "$@"
    ready
    dmesg -c >/dev/null
}
# what the log has, without time (a debug kernel's has none), module and device; and without the reason as well
reasons() { dmesg | sed -nE 's/^(\[[^]]*\] )?neuron: nd0: (.* refused .*)/\2/p'; }
logged() { reasons | sed -E 's/(\(-[0-9]+\)): [a-z].*/\1/'; }
# what the program said, in the log's form
wanted() { sed -nE 's/^([0-9]+) (\w+) (-[0-9]+)$/driver-refused[\1]: \2 refused (\3)/p' <<<"$1"; }

# at the level that has all ioctls
reload abi_level=2.29
from=0 different='' refused=0
while [ "$from" != end ]; do
    out=$(./driver-refused ioctls 0 "$from")
    wanted=$(wanted "$out")
    if [ "$(logged)" != "$wanted" ]; then different+="$wanted"$'\n--\n'$(logged)$'\n'; fi
    refused=$((refused + $(grep -c . <<<"$wanted")))
    from=$(sed -n '$s/^next //p;$s/^end$/end/p' <<<"$out")
    [ -n "$from" ] || break
    reload abi_level=2.29
done
is "$from" end "every ioctl, with a pointer to nothing and on a write-only file"
is "$different" "" "each that is refused has its line, with name, process and error"
ok "and these are more than one for each ioctl" [ $refused -gt 98 ]
echo "# $refused refusals"

reload
out=$(./driver-refused others 0)
is "$(logged | sort)" "$(wanted "$out" | sort)" "allocation, descriptors, mapping, reading, opening"
is "$(reasons | sed -E 's/.*\]: //' | sort)" "$(sort <<END
MEM_ALLOC_V2MT64 refused (-12): no memory
DMA_COPY_DESCRIPTORS64 refused (-7): too much at once, a range that is not in its chunk, or no such core
mmap refused (-22): no such handle, a value out of range, or the chip is not ready
read refused (-22): no such handle, a value out of range, or the chip is not ready
read refused (-14): a bad pointer
MEM_FREE refused (-13): not attached, or it is another process's
open refused (-16): others use it
END
)" "with their reasons"

reload
exec 3<>/dev/neuron0
echo 1 >$node/reset
exec 3>&-
is "$(reasons)" "$(basename "$BASH")[$$]: reset refused (-16): others use it" "a reset by sysfs that is ignored"
echo 5 >$node/info/notify_delay 2>/dev/null
like "$(reasons)" ']: notify_delay refused \(-22\): ' "a value that a file does not take"
# after COMMAND ERROR REASON
after() {
    dmesg -c >/dev/null
    out=$(./driver-refused after 0 "$1")
    is "$(reasons)" "driver-refused[${out%% *}]: MEM_BUF_COPY64 refused ($2): $3" "a copy: $3"
}
export -f fault
export fault_port
after 'fault nd0 dma-abort=1:queue=copy' -5 "what it had on the chip is lost, or the chip failed"
after 'fault nd0 dma-hang=1:queue=copy' -110 "the chip did not answer in time"
after "echo $bdf >/sys/bus/pci/drivers/neuron/unbind" -19 "the device is gone"
echo "$bdf" >/sys/bus/pci/drivers/neuron/bind
ready
dmesg -c >/dev/null
ok "a thousand in a row" ./driver-refused flood 0
lines=$(reasons | wc -l)
ok "leave few lines" [ "$lines" -lt 500 ]

dmesg -c >/dev/null
ok "hundreds of copies that are aborted" ./driver-refused copies 0 'fault nd0 dma-abort=always:queue=copy'
lines=$(dmesg | grep -c 'NEURON_HW_ERR=DMA_ERROR')
is "$((lines > 0 && lines < 150))" 1 "leave few lines of hardware errors"
fault_clear nd0
fault nd0 dram-ecc-uncorrected=1:queue=copy
./driver-tool copy 0 >/dev/null
like "$(dmesg)" 'NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR' "which hide no other kind of them"
done_testing
