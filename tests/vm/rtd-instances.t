#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/unit/neff/testmodel_write
# data: tests/vm/npy.sh
# Two daemons and programs of libnrt on the devices of one machine: each has its own, and who wants one
# that another has is told who that is. The sums are worked out by hand.
. ./tap.sh
. ./npy.sh

# instance NAME: the daemon in the background, until it can be used; its pid is in pid
instance() {
    neuron-rtd -i "$1" -c "$PWD/rtd.config" -x >>"/tmp/$1.log" 2>&1 &
    pid=$!
    until [ -S "/run/neuron-$1.sock" ] || ! kill -0 $pid 2>/dev/null; do usleep 20000; done
}
cli() { neuron-cli -a "unix:/run/neuron-$1.sock" "${@:2}"; }
# sum NAME: loads the program, runs it, and compares its result
sum() {
    local id
    id=$(cli "$1" load --timeout 60 add.neff) && rm -rf "/tmp/$1" &&
        cli "$1" infer "$id" --input a=one.npy --input b=two5.npy -o "/tmp/$1" && cmp "/tmp/$1/c.npy" sum.npy
}
# run DEVICE: the program by libnrt
run() { neuron-run add.neff --device "$1" --input a=one.npy --input b=two5.npy -o /tmp/run; }

./testmodel_write add add.neff
npy '\x00\x00\x80\x3f' >one.npy   # 1.0
npy '\x00\x00\x20\x40' >two5.npy  # 2.5
npy '\x00\x00\x60\x40' >sum.npy   # 3.5
echo '{ "default_timeout": 30 }' >rtd.config
echo '{ "name": "a", "devices": [0, 1] }' >a.json
echo '{ "name": "b", "devices": [2], "shmem_enabled": false }' >b.json
echo '{ "devices": [1, 2] }' >c.json

instance a
a=$pid
instance b
b=$pid
is "$(cli a list-ncg | head -n 1)" "Device count 2 NC count 8" "an instance with two devices"
is "$(cli b list-ncg | head -n 1)" "Device count 1 NC count 4" "another one with the third"
ok "the first one runs a program" sum a
ok "the second one does" sum b
like "$(cli b infer 10001 --shm --input a=one.npy --input b=two5.npy -o /tmp/shm 2>&1)" 'shared memory' "each has a configuration of its own"

# a third one, which wants a device of each
instance c
c=$pid
answer=$(cli c list-ncg 2>&1)
like "$answer" "NERR code 6" "an instance whose devices are taken answers NERR_HW_ERROR"
like "$answer" "nd1 nc0-3 in use by pid $a \(neuron-rtd\)" "and says who has the first"
like "$answer" "nd2 nc0-3 in use by pid $b \(neuron-rtd\)" "and the second"
like "$(cat /tmp/c.log)" "nd1 nc0-3 in use by pid $a" "its log says so"
kill $c
wait $c
ok "nothing of that is to be seen by the others" sum a

# programs of libnrt
refused=$(run nd0 2>&1)
is "$?" 1 "libnrt is refused on the first one's device"
like "$refused" "nd0 nc0-3 in use by pid $a \(neuron-rtd\)" "with who has it"
like "$refused" "Requested:4 Available:0" "and how many there are"
ok "it runs on the device that is left" run nd3
ok "with the right sum" cmp /tmp/run/c.npy sum.npy
like "$(run nd2 2>&1)" "nd2 nc0-3 in use by pid $b" "another device, another owner"

# a process chooses its name
odd=$'/tmp/a\tb'
cp "$(command -v neuron-rtd)" "$odd"
kill $b
wait $b
LD_LIBRARY_PATH=/opt/aws/neuron/lib "$odd" -i b -c "$PWD/rtd.config" -x >>/tmp/b.log 2>&1 &
b=$!
until [ -S /run/neuron-b.sock ]; do usleep 20000; done
like "$(run nd2 2>&1)" "in use by pid $b \(a\?b\)" "what is no text in a name is not printed"

# the devices go to who comes next
kill $a
wait $a
ok "a device of a daemon that ended is free" run nd0
kill -KILL $b
wait $b
ok "and one of a daemon that was killed" run nd2
ok "with the right sum" cmp /tmp/run/c.npy sum.npy
done_testing
