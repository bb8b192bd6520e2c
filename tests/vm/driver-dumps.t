#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge --fault-port
# later: one
# copy: tests/vm/driver/driver-dumps
# data: tests/vm/fault.sh tests/vm/chip.sh
# allows: Call Trace
# tests/vm/driver/dumps.c: dumps of hangs on all cores at once, while others read and forget them; a debug
# kernel has a checker of memory that is used after it was freed, and takes longer. What is allowed is the
# kernel's own trace when the link to an ended coredump is there still while the next one is made.
. ./fault.sh
. ./chip.sh

case $(uname -r) in
*-neuron-*) hangs=60 ;;
*) hangs=200 ;;
esac
export -f fault fault_clear
chip=$(address 0)
export fault_port chip driver=/sys/bus/pci/drivers/neuron
# shellcheck disable=SC2016
exec ./driver-dumps $hangs 'fault nd0 dma-abort=always:queue=copy' 'echo $chip >$driver/unbind' \
    'fault_clear nd0 && echo $chip >$driver/bind'
