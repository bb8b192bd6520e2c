#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-lifetimes
# tests/vm/driver/lifetimes.c
exec ./driver-lifetimes
