#!/bin/bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge
# copy: tests/vm/driver/driver-answers
# data: tests/data/abi/answers.txt
# data: tests/data/abi/ioctl-numbers.txt
# Makes every ioctl; the answers are those recorded under the public driver, except for the differences
# that answers.txt lists with their reasons.
. ./tap.sh

./driver-answers used >used.txt
point $? "what a client asks when nothing is wrong"
is "$(dmesg | grep -iE 'neuron.*(fail|error|refus|invalid|timeout)' | grep -v 'module verification')" "" \
    "leaves no complaint in the kernel log"
./driver-answers refused >refused.txt
point $? "what has to be refused"

# a question's answer: this module's if the list has one, else the public driver's
awk -F '\t' '
/^#/ || NF == 0 { next }
FNR == NR { wanted[$1] = NF > 2 ? $3 : $2; next }
{
    q = $0; a = $0
    sub(/ = .*/, "", q)
    sub(/.* = /, "", a)
    if (!(q in wanted)) print "# unknown question: " q
    good = q in wanted && wanted[q] == a
    print (good ? "ok " : "not ok ") q
    if (!good) print "#   got " a ", wanted " wanted[q]
    delete wanted[q]
}
END { for (q in wanted) print "not ok never asked: " q }' answers.txt used.txt refused.txt >verdicts
while read -r line; do
    case $line in
    "ok "*) point 0 "${line#ok }" ;;
    "not ok "*) point 1 "${line#not ok }" ;;
    *) echo "$line" ;;
    esac
done <verdicts

# every row of the table is used at least once, or refused because this chip lacks what it needs
missing=$(grep -o '^NEURON_IOCTL_[A-Z0-9_]*' ioctl-numbers.txt | sed 's/NEURON_IOCTL_//' | while read -r row; do
    cat used.txt refused.txt | grep -v NULL | grep -c "^$row " >/dev/null || echo "$row"
done)
is "$missing" "" "every row of the table"
done_testing
