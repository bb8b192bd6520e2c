#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/unit/neff/testmodel_write tests/vm/driver/driver-tool
# Devices that are missing, at the start and in the middle, and one that is removed while the daemon uses
# it: the cores of the others keep their numbers and work.
. ./tap.sh
driver=/sys/bus/pci/drivers/neuron

# unplugged and plugged: as far as programs can see
unplug() { echo "0000:00:$1.0" >$driver/unbind; }
plug() { echo "0000:00:$1.0" >$driver/bind; }

daemon() {
    neuron-rtd -g unix:/run/neuron.sock --log-console "$@" >>/tmp/log 2>&1 &
    pid=$!
    until [ -S /run/neuron.sock ] || ! kill -0 $pid 2>/dev/null; do usleep 20000; done
}
stop() {
    kill -TERM $pid
    wait $pid
}

# npy BYTES: a float32 (128, 64) array of one value
npy() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (128, 64), }"
    local chunk='' i
    for ((i = 0; i < 256; i++)); do chunk+=$1; done
    # shellcheck disable=SC2059
    for ((i = 0; i < 32; i++)); do printf "$chunk"; done
}

# right ID...: the models whose last output is the right sum
right() {
    local id good=0
    for id in "$@"; do cmp -s "/tmp/each/$id/c.npy" sum.npy && good=$((good + 1)); done
    rm -rf /tmp/each
    echo $good
}

./testmodel_write add add.neff
./testmodel_write hang hang.neff
npy '\x00\x00\x80\x3f' >one.npy
npy '\x00\x00\x20\x40' >two5.npy
npy '\x00\x00\x60\x40' >sum.npy
add=(infer --input a=one.npy --input b=two5.npy)

unplug 1c
like "$(neuron-ls)" '1d.0 \|       1 ' "the first device is missing, the others keep their numbers"
ok "a program on nd1" neuron-run add.neff -d nd1 -i a=one.npy -i b=two5.npy -o /tmp/run
ok "has the right sum" cmp /tmp/run/c.npy sum.npy
is "$(cat /sys/devices/virtual/neuron_device/neuron{1,2}/neuron_core0/stats/status/success/total)" $'1\n0' "and ran there"
daemon
is "$(neuron-cli list-ncg | head -n 1)" "Device count 3 NC count 12" "a daemon without nd0 has the other twelve cores"
read -ra ids <<<"$(neuron-cli load --copies 12 --start --timeout 60 add.neff | tr '\n' ' ')"
ok "all of them at once" neuron-cli "${add[@]}" --all --each -o /tmp/each
is "$(right "${ids[@]}")" 12 "with the right sums"
stop

# A daemon that was started without the first device has marked its own cores, and no others
daemon -t 0000:00:1d.0
plug 1c
for chip in 0 2; do
    ok "nd$chip is free for others" neuron-run add.neff -d nd$chip -i a=one.npy -i b=two5.npy -o /tmp/run
done
like "$(neuron-run add.neff -d nd1 -i a=one.npy -i b=two5.npy -o /tmp/run 2>&1)" "Requested:4 Available:0" "nd1 is not"
stop

unplug 1d
daemon
is "$(neuron-cli list-ncg | head -n 1)" "Device count 3 NC count 12" "a daemon without nd1, in the middle"
read -ra ids <<<"$(neuron-cli load --copies 12 --start --timeout 60 add.neff | tr '\n' ' ')"
ok "all cores at once" neuron-cli "${add[@]}" --all --each -o /tmp/each
is "$(right "${ids[@]}")" 12 "with the right sums"
stop
plug 1d

for chosen in 1c 1e; do
    daemon -t "0000:00:$chosen.0"
    is "$(neuron-cli list-ncg | head -n 1)" "Device count 1 NC count 4" "a daemon of the device at $chosen.0 alone"
    stop
done

chmod 600 /dev/neuron?
like "$(./driver-tool as 65534 neuron-ls 2>&1)" "/dev/neuron0: Permission denied" "where the nodes are root's alone neuron-ls says so"
chmod 666 /dev/neuron?

# a control group has nd1 and nd3 alone, as a scheduler's or a container's may
group=/sys/fs/cgroup/job
mkdir -p /sys/fs/cgroup
mount -t cgroup -o devices none /sys/fs/cgroup
mkdir $group
major=$(awk '$2 == "neuron" { print $1 }' /proc/devices)
# in the group: COMMAND...
within() { sh -c 'echo $$ >$0/cgroup.procs && exec "$@"' $group "$@"; }
run=(neuron-run add.neff -i a=one.npy -i b=two5.npy -o /tmp/run)
for minor in 0 2; do echo "c $major:$minor rwm" >$group/devices.deny; done
like "$(within sh -c ': <>/dev/neuron0' 2>&1)" "not permitted" "the group refuses nd0"
is "$(within neuron-ls | awk -F'|' '/0000:/ { print $3 + 0 }' | tr '\n' ' ')" "1 3 " "neuron-ls in a group has its chips"
like "$(within "${run[@]}" 2>&1)" "on nd1 " "neuron-run takes one of them"
ok "the sum is right" cmp /tmp/run/c.npy sum.npy
like "$(within "${run[@]}" -d nd2 2>&1)" "NRT_" "one of the others is refused"
for minor in 1 3; do echo "c $major:$minor rwm" >$group/devices.deny; done
like "$(within neuron-ls 2>&1)" "4 on the PCI bus, but this process's control group allows no /dev/neuron" "without any it says why"
like "$(within "${run[@]}" 2>&1)" "no Neuron device found: Operation not permitted" "and neuron-run does not go elsewhere"

# it goes while its cores execute
daemon
hang=$(neuron-cli load --start --timeout 600 hang.neff) # the first core: nd0
read -ra ids <<<"$(neuron-cli load --copies 15 --start --timeout 60 add.neff | tr '\n' ' ')"
neuron-cli infer "$hang" -o /tmp/hang >/tmp/client 2>&1 &
client=$!
usleep 500000
unplug 1c
wait $client
is "$?" 1 "an inference on a chip that goes fails"
like "$(cat /tmp/client)" 'NERR code [0-9]+' "with a code"
ok "the daemon is there" kill -0 $pid
mkdir -p /tmp/each
for id in "${ids[@]}"; do neuron-cli "${add[@]}" "$id" -o "/tmp/each/$id" >/dev/null 2>>/tmp/errors; done
is "$(right "${ids[@]}")" 12 "the models of the other chips work"
like "$(cat /tmp/errors)" 'NERR code' "those of the first one say what is wrong"
stop
is $? 0 "the daemon ends well"
plug 1c
daemon
is "$(neuron-cli list-ncg | head -n 1)" "Device count 4 NC count 16" "and the next one has all devices"
read -ra ids <<<"$(neuron-cli load --copies 16 --start --timeout 60 add.neff | tr '\n' ' ')"
ok "all cores at once" neuron-cli "${add[@]}" --all --each -o /tmp/each
is "$(right "${ids[@]}")" 16 "with the right sums"
stop
done_testing
