#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: four guests at once
# Four instances of trn2u.48xlarge are an UltraServer: their modules find out which node each is, as the public driver does
# (docs/hardware.md, The UltraServer). The oracle is the ring of the record: node 0's left is 1, opposite 2, right 3.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
build=${NEURON_BUILD:-$top/build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
vm() { "$top/neuron-vm/neuron-vm" "$@"; }

# what each node says once it has settled, and then when it is asked for one node
# shellcheck disable=SC2016
says='class=/sys/class/neuron_device
while [ "$(cat $class/node_id_4)" = busy ]; do sleep 1; done
for file in node_id_4 server_id_4 node_id_2 server_id_2 ultraserver_mode; do echo "$file $(cat $class/$file)"; done
dmesg | grep -o "UltraServer: .*"'
for node in 0 1 2 3; do
    vm exec --build "$build" --instance trn2u.48xlarge --ultraserver "$work/meet" --node $node --cpus 1 --memory 2G --timeout 1800 \
        -- sh -c "$says" >"$work/out$node" 2>"$work/err$node" &
done
wait

pairs=(0-1 1-1 0-0 1-0) # of two nodes above each other: which one it is, and the end of their number
for node in 0 1 2 3; do
    is "$(cat "$work/out$node")" "node_id_4 $node
server_id_4 7364000000000001
node_id_2 ${pairs[node]%-*}
server_id_2 736400000000000${pairs[node]#*-}
ultraserver_mode 1,3,4
UltraServer: node $node of 4 of 7364000000000001" "node $node knows its place"
    # a node that was ahead says that others have gone
    grep -vE ': started again$|has gone$' "$work/err$node" >&2
done
is "$(ls "$work/meet")" "" "nothing is left where they met"

dry() { vm exec --build "$build" --no-module --dry-run "$@" -- true 2>&1; }
like "$(dry --instance trn2u.48xlarge --ultraserver "$work/meet" --node 2)" 'product=trn2u.48xlarge,' "its SMBIOS name has drivers look for the others"
like "$(dry --instance trn2u.48xlarge --ultraserver "$work/meet" --node 2)" "topology=ultraserver,slots=16,ultraserver=$work/meet,node=2" "and the fabric has all four"
like "$(dry --instance trn2.48xlarge --ultraserver "$work/meet")" "trn2.48xlarge is no node of one" "another instance is refused"
like "$(dry --instance trn2u.48xlarge --ultraserver "$work/a,b")" "ultraserver=$work/a,,b,node=0" "a comma in the directory is one to QEMU"
like "$(dry --instance trn2u.48xlarge --node 1)" "--ultraserver DIR" "a node of none is refused"
like "$(dry --instance trn2u.48xlarge --ultraserver "$work/meet" --node 4)" "nodes 0 to 3" "so is a fifth node"
done_testing
