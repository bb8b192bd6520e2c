#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --no-module
# later: many
# copy: tests/vm/poke
# A guest that writes anything anywhere in its chips' registers breaks its own chips at most: QEMU
# lives, the mistakes are counted, and the module brings the chips up afterwards.
. ./tap.sh

mapfile -t chip < <(lspci -D -d 1d0f: | cut -d' ' -f1)
count=100000

for seed in 1 2 3; do
    ok "$count random accesses, seed $seed" ./poke "${chip[1]}" "$seed" $count
done
errors=$(./poke "${chip[1]}" errors)
ok "the chip counted them ($errors)" test "$errors" -gt 0
is "$(./poke "${chip[3]}" errors)" 0 "a chip nobody touched counted none"
is "$(lspci -d 1d0f: | wc -l)" "${#chip[@]}" "all are still there"
ok "both neighbours take the same" ./poke "${chip[0]}" 4 20000
ok "at the same time" sh -c "./poke ${chip[0]} 5 20000 & ./poke ${chip[1]} 6 20000 && wait \$!"
done_testing
