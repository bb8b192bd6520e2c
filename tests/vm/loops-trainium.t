#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance trn1.2xlarge
# copy: tools/neuronx-cc/neuronx-cc
# data: tests/data/hlo_ops/while_collatz/module.hlo.pb tests/data/hlo_ops/while_collatz/in0.npy
# data: tests/data/hlo_ops/while_collatz/out0.npy tests/data/hlo_ops/while_collatz/out1.npy tests/data/hlo_ops/while_collatz/out2.npy
# The loop of loops.t on a chip that does it itself (docs/nrt.md, Loops): through the module and libnrt, thrice, so that
# rings are left as the next execution needs them; then through the daemon, between two resets. JAX has the same result.
. ./tap.sh

same() {
    local i
    for i in 0 1 2; do cmp "$1/output$i.npy" "out$i.npy" || return; done
}

ok "compiles" ./neuronx-cc compile --framework XLA module.hlo.pb --target trn1 --output loop.neff
ok "runs" neuron-run loop.neff --input input0=in0.npy --repeat 3 --output-dir /tmp/run
ok "JAX's bits" same /tmp/run
neuron-rtd -g unix:/run/neuron.sock --log-console >/tmp/log 2>&1 &
pid=$!
until [ -S /run/neuron.sock ] || ! kill -0 $pid 2>/dev/null; do usleep 20000; done
id=$(neuron-cli load --start --timeout 60 loop.neff)
ok "runs through the daemon" neuron-cli infer "$id" --input input0=in0.npy --repeat 2 -o /tmp/out
ok "the same bits" same /tmp/out
kill -TERM $pid
wait $pid
is "$?" 0 "the daemon ends when it is told"
done_testing
