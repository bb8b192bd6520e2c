#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.xlarge
# later: one
# copy: tests/vm/driver/driver-orphans
# tests/vm/driver/orphans.c
exec ./driver-orphans
