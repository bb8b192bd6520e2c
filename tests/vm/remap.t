#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --no-module --cpus 2
# later: many
# copy: tests/vm/remap
# While one processor moves the memory map (a chip's BARs off and on), an access of another still goes
# where its address says.
. ./tap.sh

mapfile -t chip < <(lspci -D -d 1d0f: | cut -d' ' -f1)
is "$(./remap "${chip[0]}" "${chip[1]}" 1000)" 0 "no read of a neighbour's register is wrong"
is "$(./remap "${chip[2]}" "${chip[0]}" 1000)" 0 "nor with other chips"
done_testing
