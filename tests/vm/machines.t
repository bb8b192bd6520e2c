#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: a guest of each machine
# The machines of the generations after the first, without a driver: chips on their buses with all of their
# registers and memory, NUMA nodes, SMBIOS, routing ids; what the line about a scaled-down machine says.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
build=${NEURON_BUILD:-$top/build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
vm() { "$top/neuron-vm/neuron-vm" "$@"; }

# address, routing id, node of each chip by its number: public listings and the public driver's table of ids
declare -A wanted=(
    [trn2.3xlarge]="33:00.0-0-0"
    [inf2.24xlarge]="20:1e.0-0-1 20:1f.0-1-1 10:1e.0-2-0 10:1f.0-3-0 10:1d.0-4-0 20:1d.0-5-1"
    [inf2.48xlarge]="80:1e.0-0-2 90:1e.0-1-3 80:1d.0-2-2 90:1f.0-3-3 80:1f.0-4-2 90:1d.0-5-3
                     20:1e.0-6-1 20:1f.0-7-1 10:1e.0-8-0 10:1f.0-9-0 10:1d.0-10-0 20:1d.0-11-1"
    [trn1.32xlarge]="10:1c.0-0-0 10:1d.0-2-0 a0:1c.0-6-1 a0:1d.0-4-1 20:1b.0-1-0 20:1c.0-3-0 90:1b.0-7-1 90:1c.0-5-1
                     20:1d.0-9-0 20:1e.0-11-0 90:1d.0-15-1 90:1e.0-13-1 10:1e.0-8-0 10:1b.0-10-0 a0:1e.0-14-1 a0:1b.0-12-1"
    [trn2.48xlarge]="cc:00.0-0-1 b5:00.0-8-1 b6:00.0-9-1 cb:00.0-1-1 6f:00.0-2-0 58:00.0-10-0 59:00.0-11-0 6e:00.0-3-0
                     9b:00.0-6-0 84:00.0-14-0 85:00.0-15-0 9a:00.0-7-0 f8:00.0-4-1 e1:00.0-12-1 e2:00.0-13-1 f7:00.0-5-1"
)
declare -A bars=(
    [inf2]=$'1073741824 prefetchable\n65536 prefetchable\n34359738368 prefetchable'
    [trn1]=$'1073741824 prefetchable\n65536 prefetchable\n34359738368 prefetchable'
    [trn2]=$'4294967296 prefetchable\n65536 prefetchable\n274877906944 prefetchable'
)
# first and last address of each BAR that exists, as its size; bit 13 of its flags is prefetchable
# shellcheck disable=SC2016
sizes='while read -r first last flags; do
    [ $((flags)) = 0 ] || echo $((last - first + 1)) $([ $((flags & 0x2000)) = 0 ] || echo prefetchable)
done'

for instance in trn2.3xlarge inf2.24xlarge inf2.48xlarge trn1.32xlarge trn2.48xlarge; do
    chips=() rows=
    for chip in ${wanted[$instance]}; do
        IFS=- read -r address id node <<<"$chip"
        chips+=("0000:$address")
        rows+="0000:$address $id $node"$'\n'
    done
    # shellcheck disable=SC2086
    vm exec --build "$build" --instance "$instance" --no-module --timeout 3600 --copy "$build/tests/vm/chips" -- sh -c "
        ./chips ${chips[*]}; echo \$?
        for chip in ${chips[*]}; do $sizes </sys/bus/pci/devices/\$chip/resource; done | sort -n | uniq -c | awk '{ print \$1 }'
        $sizes </sys/bus/pci/devices/${chips[0]}/resource
        cat /sys/class/dmi/id/product_name
        cat /sys/bus/pci/devices/*/vendor | grep -c 0x1d0f
        dmesg -r | grep -E '^<[0-4]>' | grep -iE 'pci|BAR|numa|WARNING' | grep -v 'MMCONFIG information\|Unknown NUMA node'" >"$work/out" 2>"$work/err"
    n=${#chips[@]}
    is "$(cat "$work/out")" "${rows}0"$'\n'"$n"$'\n'"$n"$'\n'"$n"$'\n'"${bars[${instance%%.*}]}"$'\n'"$instance"$'\n'"$n" \
        "$instance: addresses, routing ids, nodes; all BARs placed and each chip's own memory behind them"
    # a guest that stood still at its start was started again: run counts it
    grep ': started again$' "$work/err" >&2
    is "$(grep -v ': started again$' "$work/err")" "" "$instance: standard error is the command's alone"
done

dry() { vm exec --build "$build" --no-module --dry-run "$@" -- true 2>&1; }
like "$(dry --instance trn1n.32xlarge)" 'product=trn1n.32xlarge,' "trn1n.32xlarge: its SMBIOS name"
like "$(dry --instance trn2u.48xlarge)" 'product=trn2.48xlarge,' \
    "trn2u.48xlarge: not the name that has drivers look for other instances"
like "$(dry --instance trn2u.48xlarge)" 'topology=torus,slots=16' "a torus"
like "$(dry --instance inf2.48xlarge)" 'topology=ring,slots=12' "a ring"
like "$(dry --instance trn2.48xlarge --cpus 2 --memory 3G)" \
    '^neuron-vm: trn2.48xlarge with 2 of 192 processors and 3 of 2048 GiB of memory; --cpus and --memory change that$' \
    "what is scaled down is said"
is "$(dry --instance inf2.xlarge --cpus 4 --memory 16G | grep -c 'change that')" 0 "nothing is said of a machine of full size"
is "$(dry --instance inf2.48xlarge --cpus 6 | grep -o 'cpus=[0-9,=cpus]*' | tr '\n' ' ')" 'cpus=0,cpus=4 cpus=1,cpus=5 cpus=2 cpus=3 ' \
    "nodes share the processors"
is "$(dry --instance inf2.48xlarge --memory 4099M | grep -o 'id=ram[0-9],size=[0-9]*' | awk -F= '{ sum += $3 } END { print sum / 1048576 }')" \
    4099 "nodes share all of the memory"
like "$(dry --instance trn2.48xlarge --memory 5X)" "'5X' is no size of memory" "a size that is none is refused"
like "$(dry --memory 1)" "^neuron-vm: --memory 1: a guest needs 256M or more" "so is one without a unit that was meant as GiB"
for cpus in 0 -1 256; do like "$(dry --cpus=$cpus)" "^neuron-vm: --cpus $cpus: a machine has 1 to 255" "$cpus processors are refused"; done
like "$(env -u HOME -u NEURON_CACHE -u XDG_CACHE_HOME "$top/neuron-vm/neuron-vm" exec --dry-run -- true 2>&1)" 'qemu-system-x86_64' "without a HOME"
is "$(HOME=/proc/none XDG_CACHE_HOME='' NEURON_CACHE='' "$top/neuron-vm/neuron-vm" exec --dry-run -- true 2>&1)" \
    "neuron-vm: /proc/none: No such file or directory" "a HOME that cannot be written to is said in one line"
like "$(dry --instance trn2.48xlarge --share "$work")" 'memory-backend-memfd,share=on,id=ram1,' "what a host directory is shared with is shared memory"
if [[ $(dry --instance inf1.xlarge) == *"accel kvm"* ]]; then
    skip "an emulated processor's address bits" "KVM works here"
else
    like "$(dry --instance trn2.48xlarge)" 'phys-bits=46' "an emulated processor reaches 4 TiB of BARs"
    for instance in trn2.3xlarge inf2.48xlarge; do
        like "$(dry --instance $instance)" 'phys-bits=46' \
            "$instance: and BARs of half of its usual space, at whose end firmware may not put them"
    done
    is "$(dry --instance trn1.2xlarge | grep -c phys-bits)" 0 "and has its usual address bits where they do"
fi
done_testing
