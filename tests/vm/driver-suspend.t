#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-suspend
# Suspend to RAM and resume, idle and with a process at work. A debug kernel takes long to fall asleep.
case $(uname -r) in
*-neuron-*) seconds=60 ;;
*) seconds=$([ -e /dev/neuron15 ] && echo 15 || echo 2) ;; # sixteen chips take longer, too
esac
exec ./driver-suspend "$seconds"
