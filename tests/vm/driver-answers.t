#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/vm/driver/driver-answers
# data: tests/vm/answers.sh
# data: tests/data/abi/answers.txt
# data: tests/data/abi/answers-2.26.txt
# data: tests/data/abi/answers-2.29.txt
# data: tests/data/abi/ioctl-numbers.txt
# Makes every ioctl; the answers are those recorded under the public driver, except for the differences
# that answers.txt lists with their reasons.
. ./tap.sh
. ./answers.sh

./driver-answers used >used.txt
point $? "what a client asks when nothing is wrong"
is "$(dmesg | grep -iE 'neuron.*(fail|error|refus|invalid|timeout)' | grep -v 'module verification')" "" \
    "leaves no complaint in the kernel log"
./driver-answers refused >refused.txt
point $? "what has to be refused"
./driver-answers later >later.txt
point $? "what came after 2.24"
./driver-answers newest >newest.txt
point $? "what came after 2.26"

level_table 2.24 <answers-2.29.txt | sed 's/^GET_LOGICAL_TO_PHYSICAL_NC_MAP of version 1.*/GET_LOGICAL_TO_PHYSICAL_NC_MAP of version 1\t-524/' |
    asked newest.txt refused.txt >level.txt
cat answers.txt <(later_table 7064 <answers-2.26.txt) level.txt >table.txt
answers table.txt used.txt refused.txt later.txt newest.txt

# every row of the table is used at least once, or refused because this chip lacks what it needs
missing=$(grep -o '^NEURON_IOCTL_[A-Z0-9_]*' ioctl-numbers.txt | sed 's/NEURON_IOCTL_//' | while read -r row; do
    cat used.txt refused.txt later.txt newest.txt | grep -v NULL | grep -c "^$row " >/dev/null || echo "$row"
done)
is "$missing" "" "every row of the table"
done_testing
