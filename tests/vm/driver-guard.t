#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/vm/driver/driver-guard
# tests/vm/driver/guard.c
exec ./driver-guard
