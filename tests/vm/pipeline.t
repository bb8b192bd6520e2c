#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --fault-port
# copy: tests/unit/neff/testmodel_write
# data: tests/vm/npy.sh tests/vm/fault.sh
# NeuronCore Pipeline through the daemon's socket and the module: two copies of a model of seven stages lie on
# fourteen cores of four chips, so that values cross from chip to chip: by the links, as a link that goes down
# under the loaded models shows. The model is hand-made: c = a + 7b.
. ./tap.sh
. ./npy.sh
. ./fault.sh

./testmodel_write stages stages.neff
npy '\x00\x00\x80\x3f' >one.npy   # 1.0
npy '\x00\x00\x20\x40' >two5.npy  # 2.5
npy '\x00\x00\x94\x41' >sum.npy   # 18.5
infer=(infer --input a=one.npy --input b=two5.npy)

neuron-rtd -g unix:/run/neuron.sock --log-console >/tmp/log 2>&1 &
pid=$!
until [ -S /run/neuron.sock ] || ! kill -0 $pid 2>/dev/null; do usleep 20000; done

ids=$(neuron-cli load --copies 2 --start --ninfer 7 --timeout 60 stages.neff)
is "$(wc -w <<<"$ids")" 2 "two copies are loaded"
neuron-cli list-ncg | sed 's/^/# /'
ok "both at once, many in flight" neuron-cli "${infer[@]}" --all --each --repeat 40 -o /tmp/each
good=0
for id in $ids; do cmp -s "/tmp/each/$id/c.npy" sum.npy && good=$((good + 1)); done
is "$good" 2 "each has the right sum"
ok "through shared memory" neuron-cli "${infer[@]}" --all --shm --repeat 40 -o /tmp/shm
ok "with the right sum" cmp /tmp/shm/c.npy sum.npy

# works ID NAME: the sum is right
works() {
    rm -rf /tmp/out
    neuron-cli "${infer[@]}" "$1" -o /tmp/out >/tmp/client 2>&1
    ok "$2" cmp /tmp/out/c.npy sum.npy
}
# fails ID NAME WHERE: the client gets the error of an aborted DMA, with its place
fails() {
    local got
    got=$(neuron-cli "${infer[@]}" "$1" -o /tmp/out 2>&1)
    like "$got" 'NERR code 1004' "$2"
    like "$got" "$3 dma engine [0-9]+ queue [0-9]+: DMA abort" "with the stage"
}
read -r west east <<<"$(tr '\n' ' ' <<<"$ids")" # on nd0 and nd1, on nd1 to nd3
fault nd0 link-east-down
fails "$west" "without its link a pipeline fails" 'nd0 nc3 sg03'
fails "$west" "as long as it is down" 'nd0 nc3 sg03'
works "$east" "the pipeline on other links goes on"
fault nd2 link-west-down
fails "$east" "until one of these is down" 'nd1 nc3 sg00'
fault nd0 clear
works "$west" "its link is up again, and it works"
fails "$east" "the other is where it was" 'nd1 nc3 sg00'
fault nd2 clear
works "$east" "and works as well"
ok "many in flight again" neuron-cli "${infer[@]}" --all --each --repeat 10 -o /tmp/each
good=0
for id in $ids; do cmp -s "/tmp/each/$id/c.npy" sum.npy && good=$((good + 1)); done
is "$good" 2 "with the right sums"
ok "reset" neuron-cli reset
kill -TERM $pid
wait $pid
is "$?" 0 "the daemon ends when it is told"
done_testing
