#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge
# copy: tools/neuronx-cc/neuronx-cc
# data: tests/data/hlo_ops/while_collatz/module.hlo.pb tests/data/hlo_ops/while_collatz/in0.npy
# data: tests/data/hlo_ops/while_collatz/out0.npy tests/data/hlo_ops/while_collatz/out1.npy tests/data/hlo_ops/while_collatz/out2.npy
# A loop whose iterations depend on data, through the daemon's socket and the module: how long it takes from 27 to 1 when
# odd numbers are tripled and one added, and even ones halved. JAX has the same result.
. ./tap.sh

ok "compiles" ./neuronx-cc compile --framework XLA module.hlo.pb --target inf1 --output loop.neff
neuron-rtd -g unix:/run/neuron.sock --log-console >/tmp/log 2>&1 &
pid=$!
until [ -S /run/neuron.sock ] || ! kill -0 $pid 2>/dev/null; do usleep 20000; done
id=$(neuron-cli load --start --timeout 60 loop.neff)
neuron-cli list-ncg | sed 's/^/# /'
ok "runs" neuron-cli infer "$id" --input input0=in0.npy --repeat 2 -o /tmp/out
for i in 0 1 2; do
    ok "output $i" cmp "/tmp/out/output$i.npy" "out$i.npy"
done
kill -TERM $pid
wait $pid
is "$?" 0 "the daemon ends when it is told"
done_testing
