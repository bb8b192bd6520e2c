#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/vm/driver/driver-process
# tests/vm/driver/process.c
exec ./driver-process
