#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-blocked
# tests/vm/driver/blocked.c
exec ./driver-blocked
