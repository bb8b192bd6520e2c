#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --timeout 120
# copy: tests/vm/driver/driver-suspend
# Suspend to RAM and resume, idle and with a process at work. A debug kernel takes long to fall asleep.
case $(uname -r) in
*-neuron-*) seconds=60 ;;
*) seconds=2 ;;
esac
exec ./driver-suspend $seconds
