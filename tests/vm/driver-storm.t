#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# later: many
# copy: tests/vm/driver/driver-storm
# tests/vm/driver/storm.c; the checkers of a debug kernel cost time
case $(uname -r) in
*-neuron-*) calls=500 ;;
*) calls=4000 ;;
esac
exec ./driver-storm 4 $calls 1
