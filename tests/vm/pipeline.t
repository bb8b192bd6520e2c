#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --timeout 300
# copy: tests/unit/neff/testmodel_write
# data: tests/vm/npy.sh
# NeuronCore Pipeline through the daemon's socket and the module: two copies of a model of seven stages lie on
# fourteen cores of four chips, so that values cross from chip to chip. The model is hand-made: c = a + 7b.
. ./tap.sh
. ./npy.sh

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
ok "reset" neuron-cli reset
kill -TERM $pid
wait $pid
is "$?" 0 "the daemon ends when it is told"
done_testing
