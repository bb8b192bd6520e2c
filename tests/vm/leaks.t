#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: it is tests/vm/debug-kernel that is tested
# Memory that a module leaks fails the test that loaded it.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
if [[ ${NEURON_KERNEL-} != *-neuron-kasan ]]; then
    echo "1..0 # skip the kernel does not look for leaks"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'insmod neuron-leaky.ko && echo "ok 1 - loaded"' >"$work/leaky.t"
status=0
out=$("$top/neuron-vm/neuron-vm" exec --build "$NEURON_BUILD" --no-module --copy debug-kernel --copy "$work/leaky.t" \
    --copy "$NEURON_BUILD/../modules/$NEURON_KERNEL/tests/vm/importer/neuron-leaky.ko" \
    -- bash ./debug-kernel ./leaky.t 2>&1) || status=$?
is "$status" 1 "a module that forgets memory fails its test"
like "$out" '^# kmemleak: [1-3] objects' "the pieces are counted"
like "$out" '^not ok - nothing points to what the module left' "and told of"
like "$out" '^#   comm "insmod"' "with who allocated them"
done_testing
