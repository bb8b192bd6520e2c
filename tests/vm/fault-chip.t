#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --fault-port --fault nd0:power-reading=4321 --fault nd2:power-reading=20000 --fault nd3:power-stale=on
# later: many
# copy: tests/unit/neff/testmodel_write tests/vm/driver/driver-events tests/vm/driver/driver-tool
# data: tests/vm/fault.sh tests/vm/npy.sh tests/vm/chip.sh
# Faults of the chip as a whole: mailbox, resets, links, power. What the module and its tools report,
# and that a reset brings the chip back. Programs run on the first type alone: on others the module copies instead.
. ./tap.sh
. ./fault.sh
. ./npy.sh
. ./chip.sh

sys=/sys/devices/virtual/neuron_device
# reset CHIP: by sysfs, until the module says that it is over
reset() { ./driver-events until "reset-ntf index=$1 .* stage=[12] " "echo 1 >$sys/neuron$1/reset" >/dev/null; }
# runs CHIP NAME: neuron-run adds two arrays on it, or the module copies
runs() {
    if [ ! "$links" ]; then
        is "$(./driver-tool copy "$1" | tail -n 1)" copied "$2"
        return
    fi
    rm -rf /tmp/out
    neuron-run add.neff --device "nd$1" --input a=one.npy --input b=two5.npy \
        --output-dir /tmp/out >/tmp/run 2>&1
    ok "$2" cmp /tmp/out/c.npy sum.npy
    [ -s /tmp/out/c.npy ] || sed "s/^/#   /" /tmp/run
}
# programs NAME: whether programs run; what has this name is left out otherwise
programs() {
    [ "$links" ] || { skip "$1" "programs need inf1" && false; }
}
# answers: what a file of nd1 says whose reading asks the chip; answer: what it has to say
if [ "$links" ]; then file=connected_devices answer="2, 0"; else file=$look answer=$looks; fi
answers() { cat "$sys/neuron1/$file"; }
# daemon_on CHIP: a daemon that uses this one alone
daemon_on() { daemon -t "$(basename "$(realpath "$sys/neuron$1/device")")"; }

if [ "$links" ]; then addition; fi
while grep -qx 0 $sys/*/reset; do usleep 10000; done
power() { cat "$sys/neuron$1/stats/power/utilization"; }
first2=$(power 2) first3=$(power 3) # of before the first minute
runs 1 "without a fault"

# the mailbox: fifteen tries, so less than that is not seen
mark
fault nd1 mailbox-bad-crc=5
is "$(answers)" "$answer" "five requests refused: asked again"
fault nd1 mailbox-short=5
is "$(answers)" "$answer" "five answers too short: asked again"
fault nd1 mailbox-silence=1
is "$(answers)" "$answer" "one without an answer: asked again"
is "$(since | grep 'nd1:')" "" "and nothing to be said about it"
fault nd1 mailbox-bad-crc=always
like "$(cat "$sys/neuron1/$look" 2>&1)" 'Input/output error' "a mailbox that refuses everything is an I/O error"
fault nd1 clear
is "$(answers)" "$answer" "which ends with the fault"
fault nd1 mailbox-short=always
like "$(cat "$sys/neuron1/$look" 2>&1)" 'Input/output error' "so are answers that are always too short"
fault nd1 clear
is "$(answers)" "$answer" "these end with the fault, too"
fault nd1 mailbox-bad-crc=always
reset 1
is "$(cat $sys/neuron1/reset)" 2 "without a mailbox no reset ends"
like "$(since)" 'nd1: reset of 0xffffffff failed: -110' "which the kernel log says"
like "$(since)" '.* NEURON_HW_ERR=NC_UNCORRECTABLE_ERROR .*nd-id=1 nc-id='$((cores - 1))' ' "in the form of a hardware error, for each core"
fault nd1 clear
reset 1
is "$(cat $sys/neuron1/reset)" 1 "the next reset does"
runs 1 "and the chip works"

# a mailbox that does not answer any more, under a daemon and without
mark
if [ "$links" ]; then
    daemon_on 1
    id=$(neuron-cli load --ncg-id 0 --start --timeout 2 add.neff)
fi
fault nd1 mailbox-silence=always
like "$(cat "$sys/neuron1/$look" 2>&1)" 'Connection timed out' "a silent mailbox is a timeout"
until grep 'nd1: the firmware does not answer' <<<"$(since)" >/dev/null; do usleep 100000; done
if [ "$links" ]; then
    is "$(cat $sys/neuron1/connected_devices)" "" "without it no neighbour is known"
    like "$(neuron-ls)" '1d.0 \|       1 .*\|    0 \|    0 \|' "and neuron-ls shows none"
fi
if programs "inferences without a mailbox, under a daemon and neuron-run"; then
    rm -rf /tmp/out
    infer "$id" >/dev/null
    ok "an inference does not need it" cmp /tmp/out/c.npy sum.npy
    fault nd1 engine-hang
    got=$(infer "$id")
    like "$got" 'NERR code 5' "but where one hangs, its timeout is the answer"
    like "$got" 'reset of nd1 nc0 failed: Input/output error' "and that there was no reset"
    like "$(infer "$id")" 'NERR code 6' "NERR_HW_ERROR is that to the next one"
    like "$(since)" ' NEURON_HW_ERR=NC_UNCORRECTABLE_ERROR .*nd-id=1 nc-id=0 ' "the core is reported"
    ok "and counted" [ "$(cat $sys/neuron1/neuron_core0/stats/other_info/reset_fail_count/total)" -gt 0 ]
    kill "$pid"
    wait "$pid"
    is "$?" 0 "the daemon ends as always"
    neuron-run add.neff --device nd1 --input a=one.npy --input b=two5.npy --output-dir /tmp/out >/tmp/run 2>&1
    like "$(cat /tmp/run)" 'NRT_HW_ERROR' "neuron-run cannot use the chip"
    like "$(cat /tmp/run)" 'reset of nd1 failed: Input/output error' "and says why"
    daemon_on 1
    like "$(neuron-cli list-ncg 2>&1)" 'NERR code 6' "a daemon that starts on it answers NERR_HW_ERROR"
    kill "$pid"
    wait "$pid"
fi
fault nd1 clear
reset 1
is "$(answers)" "$answer" "when it speaks again, it answers"
runs 1 "and after a reset the chip works"

# resets that do not begin
mark
fault nd2 reset-hang=3
reset 2
is "$(cat $sys/neuron2/reset)" 1 "a reset that needs four tries"
is "$(since | grep -E 'nd2: reset of|NEURON_HW_ERR')" "" "is as good as any"
runs 2 "and the chip works"
fault nd2 reset-hang=always
reset 2
is "$(cat $sys/neuron2/reset)" 2 "a reset that never ends is given up"
like "$(since)" 'nd2: reset of 0xffffffff failed: -110' "which the kernel log says"
like "$(since)" ' NEURON_HW_ERR=NC_UNCORRECTABLE_ERROR .*nd-id=2 nc-id=0 ' "as a hardware error too"
is "$(cat $sys/neuron2/neuron_core0/stats/other_info/reset_fail_count/total)" 1 "it is counted"
like "$(cat /dev/neuron2 2>&1)" 'Invalid argument' "the node cannot be opened"
if programs "neuron-run and a daemon on such a chip"; then
    neuron-run add.neff --device nd2 --input a=one.npy --input b=two5.npy --output-dir /tmp/out >/tmp/run 2>&1
    like "$(cat /tmp/run)" 'nd2|device 2|Could not open' "and neuron-run says so"
    daemon_on 2
    like "$(neuron-cli list-ncg 2>&1)" 'NERR code 6' "a daemon on it answers NERR_HW_ERROR to every call"
    kill "$pid"
    wait "$pid"
fi
runs 3 "the chip beside it works"
fault nd2 reset-hang=off
reset 2
is "$(cat $sys/neuron2/reset)" 1 "the next reset ends"
runs 2 "and the chip works"

# a reset of a core that never ends, while a program runs
if programs "a program on a core that cannot be reset"; then
    fault nd3 engine-hang reset-hang=always:after=1
    NEURON_RT_EXEC_TIMEOUT=1 neuron-run add.neff --device nd3 --input a=one.npy --input b=two5.npy \
        --output-dir /tmp/out >/tmp/run 2>&1
    is "$(($? != 0))" 1 "a program that hangs on a core that cannot be reset fails"
    like "$(cat /tmp/run)" 'timed out|timeout' "for a timeout"
    like "$(since)" ' NEURON_HW_ERR=NC_UNCORRECTABLE_ERROR .*nd-id=3 ' "the core is reported"
    fault nd3 reset-hang=off
    reset 3
    runs 3 "a reset brings it back"
fi

# links: tables say which there are, where no register does
if [ "$links" ]; then
    fault nd1 link-east-down
    is "$(cat $sys/neuron1/connected_devices) $(cat $sys/neuron2/connected_devices)" "0 3" "a broken link is gone at both ends"
    like "$(neuron-ls)" '1d.0 \|       1 .*\|    0 \|    1 \|' "neuron-ls shows it"
    reset 1
    is "$(cat $sys/neuron1/connected_devices)" "0" "a reset repairs no cable"
    fault nd1 clear
    is "$(cat $sys/neuron1/connected_devices)" "2, 0" "repaired"
else
    skip "a broken link" "no register of this chip tells of its links"
fi

# power: a line a minute, from when the module was loaded; the other chips read 0
until [[ $(power 0) == *_VALID* && $(power 1) == *_VALID* && $(power 2) != "$first2" && $(power 3) != "$first3" ]]; do
    usleep 100000
done
like "$(power 0)" '^POWER_STATUS_VALID,[0-9]+,43.21,43.21,43.21$' "power readings are what the chip says"
like "$(power 1)" '^POWER_STATUS_VALID,[0-9]+,0.00,0.00,0.00$' "of each chip"
like "$(power 2)" '^POWER_STATUS_NO_DATA,[0-9]+,0.00,0.00,0.00$' "impossible readings are none"
like "$(power 3)" '^POWER_STATUS_NO_DATA,[0-9]+,0.00,0.00,0.00$' "nor are old ones"
done_testing
