#!/bin/bash
# SPDX-License-Identifier: MIT
# Sourced by the tests of the module's answers: `answers TABLE FILE...` gives a point to each question
# that driver-answers asked into the files, and one to each of the table that it did not.
# shellcheck shell=bash

# later_table ID <FILE: the lines of answers-2.26.txt that are for a type of chip
later_table() { sed -n "s/^\[$1\] //p; t; /^\[/!p"; }

answers() {
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
END { for (q in wanted) print "not ok never asked: " q }' "$@" >verdicts
    while read -r line; do
        case $line in
        "ok "*) point 0 "${line#ok }" ;;
        "not ok "*) point 1 "${line#not ok }" ;;
        *) echo "$line" ;;
        esac
    done <verdicts
}
