#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-guard
# tests/vm/driver/guard.c
exec ./driver-guard
