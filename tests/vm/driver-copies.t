#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge
# later: one
# copy: tests/vm/driver/driver-copies
# tests/vm/driver/copies.c
exec ./driver-copies 60
