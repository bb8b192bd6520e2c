# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests with `# vm: ... --fault-port`: faults of the chips, injected from inside the guest.

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

# ends every fault of a chip
fault_clear() { fault "$1" clear; }

# mark: since prints what the kernel log says from here on
fault_marks=0
mark() { fault_marks=$((fault_marks + 1)) && echo "test: mark $fault_marks" >/dev/kmsg; }
since() { dmesg | sed "1,/test: mark $fault_marks\$/d"; }

# addition: the program c = a + b, its inputs and the right output; with npy.sh and testmodel_write
addition() {
    ./testmodel_write add add.neff
    npy '\x00\x00\x80\x3f' >one.npy   # 1.0
    npy '\x00\x00\x20\x40' >two5.npy  # 2.5
    npy '\x00\x00\x60\x40' >sum.npy   # 3.5
}

# daemon ARGS...: neuron-rtd, when it listens or has ended; pid is its process
daemon() {
    neuron-rtd -g unix:/run/neuron.sock "$@" >/tmp/log 2>&1 &
    pid=$!
    until [ -S /run/neuron.sock ] || ! kill -0 $pid; do usleep 20000; done
}

# infer MODEL: the addition, by the daemon
infer() { neuron-cli infer "$1" --input a=one.npy --input b=two5.npy -o /tmp/out 2>&1; }
