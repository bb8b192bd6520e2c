#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: one
# copy: tests/vm/driver/driver-wait
# tests/vm/driver/wait.c
exec ./driver-wait
