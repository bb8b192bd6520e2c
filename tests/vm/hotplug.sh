#!/bin/bash
# SPDX-License-Identifier: MIT
# hotplug.sh CHIP COPIES INFERENCES: the guest's side of hotplug.t. Says what it is at; the host plugs and unplugs.

node=/dev/neuron$1
gone() { while [ -e "$node" ]; do usleep 10000; done; echo "gone: $(cd /dev && echo neuron*)"; }
there() { until [ -e "$node" ]; do usleep 10000; done; echo "there: $(cd /dev && echo neuron*)"; }
works() { ./stream node "$1" 2 4 | tail -n 1; }

echo "idle: $(cd /dev && echo neuron*)"
gone
there
works "$1"

for _ in $(seq "$2"); do
    ./stream node "$1" 0 16 # until the chip goes
    echo "stream $?"
    gone
    there
    works "$1"
done

# starts a model that is executed without end, and waits until it has been executed once
done=/sys/devices/virtual/neuron_device/neuron$1/neuron_core0/stats/status/success/total
for _ in $(seq "$3"); do
    before=$(cat "$done")
    neuron-run long.neff -d "nd$1" -r 1000000 -i a=a.npy -i b=b.npy -o out >/dev/null 2>err &
    until [ "$(cat "$done")" -gt "$before" ]; do usleep 10000; done
    echo inference
    wait $!
    echo "neuron-run $?: $(tail -n 1 err)"
    gone
    there
    neuron-run long.neff -d "nd$1" -i a=a.npy -i b=b.npy -o out >/dev/null
    sha256sum <out/c.npy
done
