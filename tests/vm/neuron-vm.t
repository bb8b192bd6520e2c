#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: it is neuron-vm itself that is tested
# neuron-vm: instance table, streams, statuses, files, sharing, refusals.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

vm() { "$top/neuron-vm/neuron-vm" "$@"; }
# run NAME ARGS...: leaves stdout, stderr and the status
run() { vm exec "$@" >"$work/out" 2>"$work/err"; status=$?; }

is "$(vm types | awk 'NR > 1 { print $1, $2 }')" $'inf1.xlarge 1\ninf1.2xlarge 1\ninf1.6xlarge 4\ninf1.24xlarge 16\ninf2.xlarge 1\ninf2.8xlarge 1\ninf2.24xlarge 6\ninf2.48xlarge 12\ntrn1.2xlarge 1\ntrn1.32xlarge 16\ntrn1n.32xlarge 16\ntrn2.3xlarge 1\ntrn2.48xlarge 16\ntrn2u.48xlarge 16' \
    "types: they and their chips"
is "$(vm exec --instance inf1.24xlarge --dry-run -- true | grep -o 'neuron-inferentia,[^ ]*' | wc -l)" 16 \
    "dry-run prints a command line with sixteen chips"

run --instance trn1.2xlarge --no-module --machine q35 --dry-run -- true
is "$status" 125 "a root port has no room for its registers"
for machine in trn1.2xlarge:1e:0x7164 inf2.xlarge:1f:0x7264; do
    IFS=: read -r name slot device <<<"$machine"
    run --instance "$name" --no-module -- sh -c \
        "cd /sys/bus/pci/devices/0000:00:$slot.0 && cat device /sys/class/dmi/id/product_name &&
         awk '\$1 != \"0x0000000000000000\" { print \$1, \$2 }' resource |
         while read -r first last; do echo \$((last - first + 1)); done"
    is "$(cat "$work/out")" "$device"$'\n'"$name"$'\n1073741824\n65536\n34359738368' \
        "$name: the chip at its address, with its registers, ours and all of its memory"
done

echo "from the host" >"$work/file"
mkdir "$work/shared" && echo "shared" >"$work/shared/there"
run --no-module --copy "$work/file" --share "$work/shared" -- sh -c \
    'cat file; echo complaint >/dev/stderr; cat /mnt/share/there; lsmod | grep -c ^neuron; echo back >/mnt/share/back; exit 3'
is "$(cat "$work/out")" $'from the host\nshared\n0' "the command's output alone; its files; no module"
is "$(cat "$work/err")" complaint "standard error apart from it"
is "$status" 3 "its status"
is "$(cat "$work/shared/back")" back "what it wrote to the shared directory"

head -c 1000000 /dev/urandom >"$work/bytes"
run --no-module --copy "$work/bytes" -- cat bytes
ok "a million bytes arrive as they are" cmp "$work/bytes" "$work/out"
vm exec --no-module --copy "$work/bytes" --share "$work/shared" -- sh -c 'cat bytes; echo >/mnt/share/done' 2>"$work/err" \
    > >(until [ -e "$work/shared/done" ]; do sleep 0.1; done; cat >"$work/late")
wait $!
ok "at a reader that begins when the command has ended, too" cmp "$work/bytes" "$work/late"

# shellcheck disable=SC2016
run --no-module -- sh -c 'tr " " "\n" </proc/cmdline | sed -n "s/tsc_early_khz=//p"; dmesg | sed -n "s/.*tsc: Detected \(.*\)\.\(...\) MHz.*/\1\2/p" | tail -n 1'
if [[ $(vm exec --dry-run -- true) == *"accel kvm"* ]]; then
    skip "the guest's clock" "KVM tells the guest"
else
    is "$(uniq -cd "$work/out" | awk '{ print $1 }')" 2 "an emulated guest's kernel takes the host's word for its clock"
fi
run --no-module -- sh -c 'sleep 1000 & kill -TERM $$'
is "$status" 143 "killed by a signal: 128 and its number; a process left behind holds up nothing"
run --no-module --timeout 8 -- sleep 1000
is "$status" 124 "the end of the time: 124"
# A machine that stands still before its kernel: firmware calls a ROM whose code spins, at every start or only the first
# (a byte of the clock's memory says which it is)
rom() { python3 -c 'import sys; code = bytes.fromhex("55aa01" + sys.argv[1]).ljust(511, b"\0")
sys.stdout.buffer.write(code + bytes([-sum(code) % 256]))' "$1" >"$work/rom"; }
again="^neuron-vm: the guest's kernel did not start its first process in [0-9]+ s of processor time: started again\$"
rom b07fe670e4713c5a740ab07fe670b05ae671ebfecb
spinning=(--no-module --qemu-arg=-option-rom --qemu-arg="$work/rom")
run "${spinning[@]}" --boot-time 10 --cpus 2 --console "$work/console" -- echo here
is "$status $(cat "$work/out")" "0 here" "a guest that does not come up is started again"
is "$(grep -cE "$again" "$work/err")" 1 "which one line says"
is "$(grep -cE '^[RE]IP=' "$work/console.stood")" 6 "where both of its processors stood is beside its console, three times"
# spend SECONDS ARGS...: ends the VM once QEMU has taken so much processor time
spend() {
    local taken=0 seconds=$1
    shift
    "$top/neuron-vm/neuron-vm" exec "$@" >/dev/null 2>"$work/err" &
    until [ "${taken:-0}" -ge "$seconds" ] || ! kill -0 $!; do
        sleep 0.2
        taken=$(ps -o cputimes= --ppid $! | tail -n 1)
    done
    kill $! && wait $!
    grep -cE "$again" "$work/err"
}
is "$(spend 4 "${spinning[@]}" --boot-time 0 -- true)" 0 "not with --boot-time 0"
rom ebfe
is "$(spend 4 "${spinning[@]}" --boot-time 1 -- true)" 1 "nor a second time"
is "$(spend 20 --no-module --boot-time 15 -- sh -c 'while :; do :; done')" 0 "nor when its command has begun"
mkdir "$work/tmp"
TMPDIR=$work/tmp "$top/neuron-vm/neuron-vm" exec --no-module -- sleep 1000 >/dev/null 2>&1 &
# sizes of the initramfs and of what it takes on the disk, once the guest is up
until sizes=$(stat -c '%s %b' "$work"/tmp/neuron-vm.*/initrd 2>/dev/null) && [[ $sizes =~ ^[1-9].*\ .?.$ ]]; do
    kill -0 $! 2>/dev/null || break
    sleep 0.1
done
kill $! && wait $!
like "$sizes" '^[1-9][0-9]{7,} [0-9]{1,2}$' "a running guest's initramfs takes next to no memory and disk, at its full size"
run --no-module -- poweroff -f
is "$status" 125 "a guest that ends without a status: 125"
run --module "$work/none.ko" -- true
is "$status" 125 "no such module: 125"
run --instance inf9.huge -- true
is "$status" 125 "no such instance type: 125"
like "$(cat "$work/err")" '^neuron-vm: unknown instance type inf9.huge: one of inf1.xlarge' "and one line that says so"
run --machine q35 --instance inf1.6xlarge -- true
like "$(cat "$work/err")" 'q35 has room for 2 chips behind root ports, inf1.6xlarge has 4' "four chips on q35 are refused"
run --kernel 0.0-none -- true
like "$(cat "$work/err")" 'linux-image-0.0-none' "a kernel that is not there is named"
done_testing
