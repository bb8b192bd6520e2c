#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --no-module
# copy: tests/vm/poke
# A guest that writes anything anywhere in its chips' registers breaks its own chips at most: QEMU
# lives, the mistakes are counted, and the module brings the chips up afterwards.
. ./tap.sh

for seed in 1 2 3; do
    ok "100,000 random accesses, seed $seed" ./poke 0000:00:1d.0 "$seed" 100000
done
errors=$(./poke 0000:00:1d.0 errors)
ok "the chip counted them ($errors)" test "$errors" -gt 0
is "$(./poke 0000:00:1f.0 errors)" 0 "a chip nobody touched counted none"
is "$(lspci -d 1d0f:7064 | wc -l)" 4 "all four are still there"
ok "both neighbours take the same" ./poke 0000:00:1c.0 4 20000
ok "at the same time" sh -c './poke 0000:00:1c.0 5 20000 & ./poke 0000:00:1d.0 6 20000 && wait $!'
done_testing
