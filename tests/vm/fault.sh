# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests with `# vm: ... --fault-port`: faults of the chips, armed from inside the guest.

fault_port=
for fault_dir in /sys/class/virtio-ports/vport*; do
    if [ "$(cat "$fault_dir/name")" = neuron.fault ]; then fault_port=/dev/${fault_dir##*/}; fi
done
[ -c "$fault_port" ] || echo "Bail out! no fault port"
exec 9<>"$fault_port"

# fault CHIP FAULT[=VALUE]... : as neuron-vm fault; returns when the chip has them
fault() {
    local answer
    echo "$*" >&9
    read -r answer <&9
    [ "$answer" = ok ] || { echo "# fault $*: $answer" >&2; return 1; }
}

# every fault of a chip is over
fault_clear() { fault "$1" clear; }
