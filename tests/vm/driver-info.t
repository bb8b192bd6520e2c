#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/vm/driver/driver-info
# tests/vm/driver/info.c
exec ./driver-info
