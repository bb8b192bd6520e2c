#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: one
# copy: tests/vm/driver/driver-memory
# tests/vm/driver/memory.c
exec ./driver-memory
