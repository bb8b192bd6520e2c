#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/unit/neff/testmodel_write
# data: tests/vm/npy.sh
# The daemon on the module's devices: all 16 cores at once, one owner of a device, users, and a daemon
# that is killed while a core executes. The programs are hand-made: c = a + b, and one that never ends.
. ./tap.sh
. ./npy.sh

# daemon SOCKET OPTION... : in the background, until it can be used
daemon() {
    local socket=$1
    shift
    neuron-rtd -g "unix:$socket" --log-console "$@" >>/tmp/log 2>&1 &
    pid=$!
    until [ -S "$socket" ] || ! kill -0 $pid 2>/dev/null; do usleep 20000; done
}

./testmodel_write add add.neff
./testmodel_write hang hang.neff
npy '\x00\x00\x80\x3f' >one.npy   # 1.0
npy '\x00\x00\x20\x40' >two5.npy  # 2.5
npy '\x00\x00\x60\x40' >sum.npy   # 3.5
chmod 644 ./*.neff ./*.npy
add=(infer --input a=one.npy --input b=two5.npy)

daemon /run/neuron.sock
is "$(neuron-cli list-ncg | head -n 1)" "Device count 4 NC count 16" "the daemon owns four devices"
ids=$(neuron-cli load --copies 16 --start --timeout 60 add.neff)
is "$(wc -w <<<"$ids")" 16 "a model is loaded on each of 16 cores"
ok "all of them at once" neuron-cli "${add[@]}" --all --each -o /tmp/each
good=0
for id in $ids; do cmp -s "/tmp/each/$id/c.npy" sum.npy && good=$((good + 1)); done
is "$good" 16 "each has the right sum"
ok "many in flight through shared memory" neuron-cli "${add[@]}" --all --shm --repeat 100 -o /tmp/shm
ok "with the right sum" cmp /tmp/shm/c.npy sum.npy

# one owner
daemon /tmp/second.sock -l 3
like "$(neuron-cli -a unix:/tmp/second.sock list-ncg 2>&1)" 'NERR code 6' "a second daemon on the same devices answers NERR_HW_ERROR"
kill $pid
wait $pid
is "$?" 0 "and ends when it is told"
pid=$(pidof neuron-rtd)

# an ordinary user
cp add.neff /root/secret.neff
cp add.neff one.npy two5.npy /tmp
chmod 600 /root/secret.neff && chmod 700 /root
ok "reset" neuron-cli reset
ok "a user loads by path what that user can read" su user -c "neuron-cli load --enable-direct-file-load /tmp/add.neff"
like "$(su user -c 'neuron-cli list-model')" 'Found 1 models' "and sees it"
like "$(su user -c 'cd /tmp; neuron-cli infer --all --shm -i a=one.npy -i b=two5.npy -o /tmp/user' 2>&1)" '^1 rows, ' "and runs it"
ok "with the right sum" cmp /tmp/user/c.npy sum.npy
cat >/tmp/other.sh <<'END'
cd /proc/self/fd && neuron-cli load --enable-direct-file-load /root/secret.neff
END
like "$(su user -c 'sh /tmp/other.sh' 2>&1)" 'denied|No such file|cannot' "but not what only root can read"
ok "reset" neuron-cli reset

# killed while a core executes
hang=$(neuron-cli load --ncg-id 0 --start --timeout 600 hang.neff)
neuron-cli infer "$hang" -o /tmp/hang >/tmp/client 2>&1 &
client=$!
usleep 500000
kill -KILL "$pid"
wait $client
is "$?" 1 "the client of a killed daemon fails"
like "$(cat /tmp/client)" UNAVAILABLE "with UNAVAILABLE"
mv /run/neuron.sock /run/stale.sock # a restarted daemon would replace it; this one must make its own
daemon /run/neuron.sock
is "$(neuron-cli list-ncg | head -n 1)" "Device count 4 NC count 16" "the devices are free for the next daemon"
ok "which loads on the same cores" neuron-cli load --copies 16 --start --timeout 60 add.neff
rm -rf /tmp/each
ok "and runs" neuron-cli "${add[@]}" --all --each -o /tmp/each
good=0
for out in /tmp/each/*/c.npy; do cmp -s "$out" sum.npy && good=$((good + 1)); done
is "$good" 16 "with the right sums"

# a program that never ends costs its own core a reset and nobody else anything
ok "room for it" neuron-cli unload 10001
hang=$(neuron-cli load --timeout 1 hang.neff)
like "$(neuron-cli infer "$hang" -o /tmp/hang 2>&1)" 'NERR code 5' "a timeout is 5"
ok "unload it" neuron-cli unload "$hang"
ok "load another in its place" neuron-cli load --timeout 60 add.neff
ok "all cores run" neuron-cli "${add[@]}" --all --each -o /tmp/after
good=0
for out in /tmp/after/*/c.npy; do cmp -s "$out" sum.npy && good=$((good + 1)); done
is "$good" 16 "with the right sums"

kill -TERM $pid
wait $pid
is "$?" 0 "SIGTERM: status 0"
is "$(ls /run/neuron.sock 2>/dev/null)" "" "and no socket"
done_testing
