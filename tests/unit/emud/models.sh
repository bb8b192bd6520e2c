#!/bin/bash
# SPDX-License-Identifier: MIT
# A model on each core of one served chip, each in a process of its own, all at once and three times
# over: right sums.
# usage: models.sh NEURON_EMUD NRT_SMOKE TESTMODEL_WRITE
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export smoke dir
smoke=$(realpath "$2")
"$3" add "$dir/add.neff"

# shellcheck disable=SC2016 # it is the command's to expand
"$1" --instance inf1.xlarge -- bash -euc '
    pids=()
    for round in 1 2 3; do
        for core in 0 1 2 3; do
            NEURON_RT_VISIBLE_CORES=$core "$smoke" "$dir/add.neff" > "$dir/$core" & pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid"; done
        pids=()
        for core in 0 1 2 3; do grep -x "4 cores, 8192 sums" "$dir/$core"; done
    done'
