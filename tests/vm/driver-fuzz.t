#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-fuzz
# tests/vm/driver/fuzz.c, at the level that has all ioctls
. ./tap.sh
unload
modprobe neuron abi_level=2.29
until [ "$(cat /sys/class/neuron_device/neuron*/reset | sort -u)" = 1 ]; do usleep 10000; done
udevadm settle
exec ./driver-fuzz 20000 1
