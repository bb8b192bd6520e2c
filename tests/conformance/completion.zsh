#!/usr/bin/env zsh
# SPDX-License-Identifier: MIT
# The zsh completion offers what the programs' --help lists, as TAP.
# usage: completion.zsh SOURCE_ROOT NEURON_LS
emulate -L zsh
export LC_ALL=C # candidates are compared sorted
root=$1 neuron_ls=$2 count=0

# Offers candidates as the shell does: those that begin as the word does
offer() { offered+=(${(M)@:#${(b)words[CURRENT]}*}) }
compadd() { offer ${@:#--} }
_describe() { offer ${${(P)4}%%:*}; meant=(${(P)4}) }
_files() { offered+=(FILES) }

autoload -U "$root/completions/_neuron"

# expect WANTED WORD... : what the last word may become
expect() {
    local want=$1
    shift
    words=("$@")
    CURRENT=$#
    offered=() meant=()
    _neuron
    count=$((count + 1))
    sorted=${(j: :)${(o)offered}}
    if [[ $sorted == "$want" ]]; then
        print "ok $count - ${*:2}"
    else
        print "not ok $count - ${*:2}: $offered"
    fi
}

print 1..11
expect "--topology" "$neuron_ls" --t
expect "--show-all-procs" "$neuron_ls" --wide --s
count=$((count + 1))
if (( $meant[(Ie)--show-all-procs:show processes without a Neuron runtime too] )); then
    print "ok $count - with what it means"
else
    print "not ok $count - with what it means: $meant"
fi
expect "1.0.11054 1.16 2.9 classic modern" "$neuron_ls" --format ""
expect "FILES" "$neuron_ls" ""
expect "inf1.24xlarge inf1.2xlarge" "$root/neuron-vm/neuron-vm" exec --instance inf1.2
expect "--module" "$root/neuron-vm/neuron-vm" exec --mo
expect "pc q35" "$root/neuron-vm/neuron-vm" exec --machine ""
expect "dram-ecc-corrected dram-ecc-uncorrected" "$root/neuron-vm/neuron-vm" fault nd0 dram
expect "list logs" "$root/neuron-vm/neuron-vm" l
# what bash offers, zsh offers
all=(${(f)"$(bash -c '. "$1"; _neuron_options "$2"' - "$root/completions/neuron.bash" "$neuron_ls")"})
wanted=${(j: :)${(o)all}}
expect "$wanted" "$neuron_ls" --
