#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge
# later: one
# copy: tests/vm/driver/driver-importer
# data: tests/vm/importer/neuron-importer.ko
# tests/vm/driver/importer.c
if [ "$(grep -c "vermagic=$(uname -r) " neuron-importer.ko)" -eq 0 ]; then
    echo "1..0 # skip neuron-importer.ko is for another kernel"
    exit
fi
insmod neuron-importer.ko || exit
exec ./driver-importer
