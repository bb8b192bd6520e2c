#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-fuzz
# tests/vm/driver/fuzz.c
exec ./driver-fuzz 20000 1
