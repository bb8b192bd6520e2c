#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance trn2.3xlarge --qemu-arg=-global --qemu-arg=neuron-trainium2.firmware-version=7
# copy: tests/vm/driver/driver-answers
# What goes to firmware that has a mailbox in words, and what that was told (hardware.md, Versions of the firmware). The
# public driver 2.26.5.0 answers the same but for profiles that there are not: 0, whatever the firmware says of them.
. ./tap.sh

./driver-answers firmware >firmware.txt
point $? "power profiles, throttling, metrics"
answer() { sed -n "s/^$1 = //p" firmware.txt; }
is "$(answer 'POWER_PROFILE 0')" 0 "a profile"
is "$(answer 'POWER_PROFILE 3')" "0 read 0 told 3" "another, which the firmware has then"
is "$(answer 'POWER_PROFILE 200, which there is not')" -5 "one that the firmware refuses"
is "$(answer 'POWER_PROFILE 256')" "-22 read 0 told 3" "one that is none, of which it hears nothing"
is "$(answer 'POWER_PROFILE to ask for it')" -524 "asking is not there"
is "$(answer 'POWER_PROFILE of another size')" -6 "nor another size"
is "$(answer 'THROTTLING_NOTIFICATIONS on')" "0 read 0 told 1" "notifications of throttling"
is "$(answer 'THROTTLING_NOTIFICATIONS off')" "0 read 0 told 0" "are switched off"
is "$(answer 'THROTTLING_NOTIFICATIONS 77')" "0 read 0 told 1" "and on by any number"
done_testing
