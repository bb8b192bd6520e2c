#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host:
# The module as a DKMS package: dkms builds it from what scripts/dkms-source puts together, in trees
# of its own, and the result is for the chips of the README. The keys that dkms makes for signing stay
# out of the machine.
. ./tap.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/src" "$dir/tree"
kernel=$("$NEURON_TOP/scripts/fetch-kernel" --have)
headers=$("$NEURON_TOP/scripts/fetch-kernel" --headers "$kernel")
version=$("$NEURON_TOP/scripts/dkms-source" "$dir/src")
build() {
    unshare --mount bash -c 'mount -t tmpfs tmpfs /var/lib/dkms && exec "$@"' _ \
        dkms build --sourcetree "$dir/src" --dkmstree "$dir/tree" -m neuron -v "$version" -k "$kernel" \
        --kernelsourcedir "$headers"
}
ok "dkms build" build
module=$dir/tree/neuron/$version/$kernel/x86_64/module/neuron.ko
is "$(modinfo -F version "$module")" "$version" "its version is the package's"
is "$(modinfo -F vermagic "$module" | cut -d' ' -f1)" "$kernel" "it is for that kernel"
is "$(modinfo -F alias "$module" | grep '^pci:' | tr '\n' ' ')" \
    "pci:v00001D0Fd00007364sv*sd*bc*sc*i* pci:v00001D0Fd00007264sv*sd*bc*sc*i* pci:v00001D0Fd00007164sv*sd*bc*sc*i* pci:v00001D0Fd00007067sv*sd*bc*sc*i* pci:v00001D0Fd00007066sv*sd*bc*sc*i* pci:v00001D0Fd00007065sv*sd*bc*sc*i* pci:v00001D0Fd00007064sv*sd*bc*sc*i* " \
    "it is loaded for all of the chips"
done_testing
