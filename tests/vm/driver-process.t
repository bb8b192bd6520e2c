#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-process
# tests/vm/driver/process.c
exec ./driver-process
