#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/vm/driver/driver-storm
# tests/vm/driver/storm.c
exec ./driver-storm 10 1
