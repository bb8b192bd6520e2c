#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: neuron-vm itself, with a guest beside it
# neuron-vm fault: it finds a running VM, injects faults into its chips and lists them; --fault and
# --fault-port do the same from the start and from inside.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work/run # where nobody else's VMs are

vm() { "$top/neuron-vm/neuron-vm" "$@"; }
# refused WANTED NAME ARGS...: neuron-vm fault says so with status 125
refused() {
    local wanted=$1 name=$2
    shift 2
    like "$(vm fault "$@" 2>&1; echo "status $?")" "$wanted" "$name"
}
# await FILE: the guest makes it, or has ended
await() { until [ -e "$1" ] || ! kill -0 $guest 2>/dev/null; do sleep 0.05; done; }

refused 'no VM is running' "without a VM"
mkdir "$work/shared"
cat >"$work/script" <<'END'
links() { for n in 0 1 2 3; do echo "$1 nd$n: $(cat /sys/class/neuron_device/neuron$n/connected_devices)"; done; }
links before
touch /mnt/share/up
until [ -e /mnt/share/go ]; do usleep 20000; done
links broken
touch /mnt/share/seen
until [ -e /mnt/share/end ]; do usleep 20000; done
links repaired
. ./fault.sh
fault nd0 link-east-down && links inside
fault nd9 link-east-down 2>&1
exit 3
END
vm exec --instance inf1.6xlarge --build "${NEURON_BUILD:-$top/build/release}" --name test --share "$work/shared" \
    --fault nd3:power-reading=4321 --fault nd3:dma-abort=2:core=1 --fault-port \
    --copy "$work/script" --copy fault.sh -- bash script >"$work/out" 2>"$work/err" &
guest=$!
await "$work/shared/up"
is "$(vm fault --vm test | tr -s ' ')" $'nd3 dma-abort 2:core=1 struck 0\nnd3 power-reading 4321 struck 0' \
    "what --fault injected is listed"
ok "one more, of the only VM there is" vm fault nd1 link-east-down
is "$(vm fault nd1 | tr -s ' ')" "nd1 link-east-down on struck 0" "and listed"
refused '125' "an unknown fault is refused" nd1 dma-explosion
refused 'is no specification of this fault' "so is a value that is none" nd1 dma-abort=often
refused 'has no chip nd4' "and a chip that is not there" nd4 dma-abort
refused 'no VM named other is running' "and a VM" --vm other nd1 dma-abort
touch "$work/shared/go"
await "$work/shared/seen"
ok "clear" vm fault nd1 clear
is "$(vm fault nd1)" "" "no fault is injected any more"
touch "$work/shared/end"
wait $guest
is "$?" 3 "the guest ends with its own status"
is "$(grep -E 'before|repaired' "$work/out" | sed 's/^[a-z]* //' | sort | uniq -c | tr -s ' ')" \
    $' 2 nd0: 1\n 2 nd1: 2, 0\n 2 nd2: 3, 1\n 2 nd3: 2' "the guest's links: all up, and again"
is "$(grep broken "$work/out")" $'broken nd0: 1\nbroken nd1: 0\nbroken nd2: 3\nbroken nd3: 2' "one is broken, at both ends"
is "$(grep inside "$work/out")" $'inside nd0: \ninside nd1: 2\ninside nd2: 3, 1\ninside nd3: 2' "another, from inside"
like "$(cat "$work/err" "$work/out")" 'error: the VM has no chip nd9' "which also says what it refuses"
is "$(ls "$work/run/neuron-vm")" "" "no socket stays behind"
done_testing
