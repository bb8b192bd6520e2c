#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.2xlarge
# copy: tests/unit/neff/testmodel_write tests/unit/nrt/test_gather
# Rows by index on the module's devices, whose rings the module makes and whose guard is on: libnrt's own suite,
# and through the daemon's socket a model that takes 130 of 300 rows of each of three tables (the second one's
# from the end on), twice.
. ./tap.sh

export LD_LIBRARY_PATH=/opt/aws/neuron/lib
ok "the suite of tests/unit/nrt on nodes" ./test_gather node

# npy DTYPE ROWS COLUMNS <data
npy() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2, $3), }"
    cat
}

# a row says which one it is
rows() { printf '%-100d' "$@"; }

# taken START STEP: the indices, and what they choose
taken() {
    local i at=() one=() two=() three=()
    for ((i = 0; i < 130; i++)); do
        at[i]=$((($1 + i * $2) % 300))
        one[i]=${at[i]}
        two[i]=$((599 - at[i]))
        three[i]=$((600 + at[i]))
    done
    for i in "${at[@]}"; do
        # shellcheck disable=SC2059
        printf "$(printf '\\x%02x\\x%02x\\0\\0' $((i % 256)) $((i / 256)))"
    done | npy '<i4' 1 130 >index.npy
    rows "${one[@]}" "${two[@]}" "${three[@]}" | npy '|i1' 390 100 >taken.npy
}

mapfile -t all < <(seq 0 899)
rows "${all[@]}" | npy '|i1' 900 100 >table.npy
./testmodel_write gather gather.neff

neuron-rtd -g unix:/run/neuron.sock --log-console >/tmp/log 2>&1 &
pid=$!
until [ -S /run/neuron.sock ] || ! kill -0 $pid 2>/dev/null; do usleep 20000; done
id=$(neuron-cli load --start --timeout 60 gather.neff)
for start in 0 173; do
    taken $start 11
    ok "rows from $start on" neuron-cli infer "$id" --input table=table.npy --input index=index.npy -o "/tmp/$start"
    ok "the right ones" cmp "/tmp/$start/y.npy" taken.npy
done
kill -TERM $pid
wait $pid
is "$?" 0 "the daemon ends when it is told"
done_testing
