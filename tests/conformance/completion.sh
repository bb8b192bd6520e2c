#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The bash completion offers what the programs' --help lists, as TAP.
# usage: completion.sh SOURCE_ROOT NEURON_LS
set -euo pipefail
root=$1
neuron_ls=$2
count=0

# shellcheck source=/dev/null
. "$root/completions/neuron.bash"

# expect WANTED WORD... : what the last word may become
expect() {
    local want=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _neuron
    count=$((count + 1))
    if [ "${COMPREPLY[*]}" = "$want" ]; then
        echo "ok $count - ${*:2}"
    else
        echo "not ok $count - ${*:2}: ${COMPREPLY[*]}"
    fi
}

echo 1..7
expect "--topology" "$neuron_ls" --t
expect "--show-all-procs" "$neuron_ls" --wide --s
expect "classic 1.0.11054 1.16 2.9 modern" "$neuron_ls" --format ""
expect "inf1.2xlarge inf1.24xlarge" "$root/scripts/neuron-vm" exec --instance inf1.2
expect "--module" "$root/scripts/neuron-vm" exec --mo
expect "dram-ecc-corrected= dram-ecc-uncorrected=" "$root/scripts/neuron-vm" fault nd0 dram
expect "list logs" "$root/scripts/neuron-vm" l
