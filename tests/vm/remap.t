#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --no-module --cpus 2
# copy: tests/vm/remap
# While one processor moves the memory map (a chip's BARs off and on), an access of another still goes
# where its address says.
. ./tap.sh

is "$(./remap 0000:00:1c.0 0000:00:1d.0 1000)" 0 "no read of a neighbour's register is wrong"
is "$(./remap 0000:00:1e.0 0000:00:1c.0 1000)" 0 "nor with other chips"
done_testing
