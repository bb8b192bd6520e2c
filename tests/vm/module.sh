# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The module on a chip after the first type, sourced by the test of each type: every ioctl's answer as recorded
# under the public driver, except for the differences that answers-TYPE.txt lists with their reasons; copies,
# mappings, resets.
. ./tap.sh
. ./answers.sh

# module_answers TABLE ID: the recorded answers are answers.txt's and TABLE's, and those of drivers after 2.24 for
# the type of chip with that PCI id
module_answers() {
    ./driver-answers used >used.txt
    point $? "what a client asks when nothing is wrong"
    is "$(dmesg | grep -iE 'neuron.*(fail|error|invalid|timeout)' | grep -v 'module verification')" "" \
        "leaves no error in the kernel log"
    ./driver-answers refused >refused.txt
    point $? "what has to be refused"
    ./driver-answers later >later.txt
    point $? "what came after 2.24"
    cat answers.txt "$1" <(later_table "$2" <answers-2.26.txt) <(level_table 2.24 <answers-2.29.txt | asked refused.txt) >table.txt
    answers table.txt used.txt refused.txt later.txt
}

module_works() {
    ./driver-chips >chips.txt
    point $? "copies, mappings, filling, resets"
    grep '^not ok' chips.txt | sed 's/^/# /'
    ok "libndl's notification queues are in their slots" env LD_LIBRARY_PATH=/opt/aws/neuron/lib ./driver-notify
}

module_goes() {
    rmmod neuron
    point $? "the module goes"
    is "$(ls /dev/neuron* 2>/dev/null)" "" "with its nodes"
}
