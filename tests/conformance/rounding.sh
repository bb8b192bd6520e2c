#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stochastic rounding as the environment asks for it, from a model to its result, as TAP.
# usage: rounding.sh BUILD TOP
set -uo pipefail
BUILD=$1 top=$2
export BUILD
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
n=0

result() { # TEXT STATUS
    n=$((n + 1))
    [ "$2" -eq 0 ] && echo "ok $n - $1" || echo "not ok $n - $1"
}

"$top/examples/rounding/run" "$out" >"$out/said"
result "the example runs" $?
grep -Eq '^nearest +1024\.0 +1024 +1024$' "$out/said"
result "to nearest the sum stays at 1024" $?
# the mean of 1024 sums, each of variance 2048 / 4: four times what chance does
awk '/^stochastic/ { m = $(NF - 2); k++; if (m < 2045.1 || m > 2050.9) bad = 1 } END { exit bad || k != 2 }' "$out/said"
result "at random it is 2048" $?
[ "$(awk '/^stochastic/ { print $(NF - 2), $(NF - 1), $NF }' "$out/said" | sort -u | wc -l)" -eq 2 ]
result "another seed gives other numbers" $?

run() { # NEFF DEVICE DIR VARIABLE=VALUE...
    local neff=$1 device=$2 dir=$3
    shift 3
    env "$@" "$BUILD/tools/neuron-run" "$out/$neff" --device "$device" --input "x=$out/x.npy" --output-dir "$out/$dir" >/dev/null 2>"$out/error"
}
run sum.neff emu:trn1.2xlarge again NEURON_RT_STOCHASTIC_ROUNDING_EN=True && cmp -s "$out"/again/*.npy "$out"/stochastic/*.npy
result "the same seed gives the same bits" $?
! run sum.neff emu:trn1.2xlarge wrong NEURON_RT_STOCHASTIC_ROUNDING_EN=2 && grep -q 'STOCHASTIC_ROUNDING_EN=2: 0, 1, false or true is expected' "$out/error"
result "neither 0 nor 1 is refused" $?
! run sum.neff emu:trn1.2xlarge wrong NEURON_RT_STOCHASTIC_ROUNDING_SEED=-1 && grep -q 'STOCHASTIC_ROUNDING_SEED=-1: a number' "$out/error"
result "a seed that is no number is refused" $?
"$BUILD/tools/neuronx-cc/neuronx-cc" compile --framework XLA "$out/sum.hlo.pb" --target inf1 --auto-cast none --output "$out/first.neff" &&
    run first.neff emu:inf1.xlarge first NEURON_RT_STOCHASTIC_ROUNDING_EN=1 && cmp -s "$out"/first/*.npy "$out"/nearest/*.npy
result "on Inferentia it has no effect" $?
echo "1..$n"
