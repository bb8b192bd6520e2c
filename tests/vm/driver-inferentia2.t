#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf2.xlarge
# copy: tests/vm/driver/driver-answers
# copy: tests/vm/driver/driver-chips
# copy: tests/vm/driver/driver-notify
# data: tests/vm/answers.sh
# data: tests/data/abi/answers.txt
# data: tests/data/abi/answers-2.26.txt
# data: tests/data/abi/answers-inferentia2.txt
# The module on Inferentia2: every ioctl's answer as recorded under the public driver, except for the
# differences that answers-inferentia2.txt lists with their reasons; copies, mappings, resets.
. ./tap.sh
. ./answers.sh

./driver-answers used >used.txt
point $? "what a client asks when nothing is wrong"
is "$(dmesg | grep -iE 'neuron.*(fail|error|invalid|timeout)' | grep -v 'module verification')" "" \
    "leaves no error in the kernel log"
./driver-answers refused >refused.txt
point $? "what has to be refused"
./driver-answers later >later.txt
point $? "what came after 2.24"
cat answers.txt answers-inferentia2.txt <(later_table 7264 <answers-2.26.txt) >table.txt
answers table.txt used.txt refused.txt later.txt

./driver-chips >chips.txt
point $? "copies, mappings, filling, resets"
grep '^not ok' chips.txt | sed 's/^/# /'
ok "libndl's notification queues are in their slots" env LD_LIBRARY_PATH=/opt/aws/neuron/lib ./driver-notify

rmmod neuron
point $? "the module goes"
is "$(ls /dev/neuron* 2>/dev/null)" "" "with its nodes"
done_testing
