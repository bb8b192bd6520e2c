#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: one
# copy: tests/vm/driver/driver-queues
# tests/vm/driver/queues.c
exec ./driver-queues
