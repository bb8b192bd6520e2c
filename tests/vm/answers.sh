#!/bin/bash
# SPDX-License-Identifier: MIT
# Sourced by the tests of the module's answers: `answers TABLE FILE...` gives a point to each question
# that driver-answers asked into the files, and one to each of the table that it did not.
# shellcheck shell=bash

# later_table ID <FILE: the lines of answers-2.26.txt that are for a type of chip
later_table() { sed -n "s/^\[$1\] //p; t; /^\[/!p"; }

# level_table LEVEL <FILE: the lines of answers-2.29.txt that are for a level of the module; what comes later is an
# unknown ioctl
level_table() {
    awk -F '\t' -v level="$1" '
/^#/ || NF == 0 { next }
{
    range = substr($0, 2, index($0, "]") - 2)
    line = substr($0, index($0, "]") + 2)
    split(range, ends, "-")
    question = line
    sub(/\t.*/, "", question)
    if (level + 0 < ends[1] + 0) later[question] = 1
    else if (ends[2] == "" || level + 0 <= ends[2] + 0) { print line; said[question] = 1 }
}
END { for (q in later) if (!(q in said)) print q "\t-22" }'
}

# asked FILE... <TABLE: the lines of a table that the files have questions of
asked() { awk -F '\t' 'NR == FNR && FILENAME != "-" { sub(/ = .*/, ""); asked[$0] = 1; next } $1 in asked' <(cat "$@") -; }

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
