#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The bash completion offers what the programs' --help lists, and every program with a page has one, as TAP.
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

echo 1..9
expect "--topology" "$neuron_ls" --t
expect "--show-all-procs" "$neuron_ls" --wide --s
expect "classic 1.0.11054 1.16 2.9 modern" "$neuron_ls" --format ""
expect "inf1.2xlarge inf1.24xlarge" "$root/neuron-vm/neuron-vm" exec --instance inf1.2
expect "--module" "$root/neuron-vm/neuron-vm" exec --mo
expect "dram-ecc-corrected= dram-ecc-uncorrected=" "$root/neuron-vm/neuron-vm" fault nd0 dram
expect "list logs" "$root/neuron-vm/neuron-vm" l

# each program that has a page, under its own name or another's, where each shell looks for it
pages=$(cd "$root/man" && { printf '%s\n' *.[18] && sed -n "s/^install_symlink('\([^']*\)'.*/\1/p" meson.build; } | sed 's/\.[18]$//' | sort)
installed=$(grep -o "'neuron[a-z_.0-9-]*'" "$root/completions/meson.build" | tr -d "'" | grep -vx 'neuron\.bash' | sort -u)
count=$((count + 1))
if [ "$installed" = "$pages" ]; then
    echo "ok $count - bash: every program that has a page"
else
    echo "not ok $count - bash: every program that has a page"
    diff <(echo "$pages") <(echo "$installed") | sed 's/^/# /' || true
fi
count=$((count + 1))
if [ "$(sed -n '1s/^#compdef //p' "$root/completions/_neuron" | tr ' ' '\n' | sort)" = "$pages" ] &&
    [ "$(complete -p | sed -n 's/.* _neuron //p' | sort)" = "$pages" ]; then
    echo "ok $count - and the names that bash's file and zsh's give"
else
    echo "not ok $count - and the names that bash's file and zsh's give"
fi
