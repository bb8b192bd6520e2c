#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance trn2.3xlarge --fault-port
# copy: tests/unit/neff/testmodel_write tests/vm/driver/driver-tool
# data: tests/vm/fault.sh tests/data/node-problem-detector/rules.txt
# A core of a logical one that waits for the other for ever: libnrt, as root and as nobody, and the daemon leave one
# line in the kernel log, which node-problem-detector's public rule matches. A program that is late all by itself
# leaves none, and nobody can write one that the chip does not confirm.
. ./tap.sh
. ./fault.sh

pattern=$(sed -n 's/^NeuronHasError_HANG_ON_COLLECTIVES\t//p' rules.txt)
serial=$(cat /sys/devices/virtual/neuron_device/neuron0/info/serial_number)
# lines since the mark that the rule matches, without the time, which its program does not see
said() { since | sed 's/^\[[^]]*\] //' | grep -E -- "$pattern"; }
# run MODEL USER: for a second; what it says is in /tmp/run
run() { NEURON_RT_EXEC_TIMEOUT=1 ./driver-tool as "$2" neuron-run "$1.neff" --device nd0 --output-dir "/tmp/out$2" >/tmp/run 2>&1; }
# told CORE NAME: one line, of this core
told() {
    is "$(said | wc -l)" 1 "$2: one line"
    like "$(said)" "^neuron: nd0: NEURON_HW_ERR=HANG_ON_COLLECTIVES instance-id=[^ ]+ hostname=[^ ]+ nd-id=0 nc-id=$1 serial-num=$serial action=TERMINATE_INSTANCE\$" \
        "$2: in the form of the others"
}
claim='x NEURON_HW_ERR=HANG_ON_COLLECTIVES instance-id=i hostname=h nd-id=0 nc-id=0 serial-num=1 action=TERMINATE_INSTANCE'

chmod 666 /dev/neuron0
for model in meet absent late astray alone; do ./testmodel_write $model $model.neff; done
ok "two cores that meet" run meet 0

for user in 0 65534; do
    for model in absent late; do
        mark
        run $model $user
        is $? 1 "user $user, $model: the execution fails"
        like "$(cat /tmp/run)" 'execution timeout .*: nc0 waits for nc1 \(sp at byte 128 of its program, semaphore 9\)' \
            "which core waits, for which, and where"
        told 0 "user $user, $model"
        ok "the cores meet again" run meet $user
    done
    for model in astray alone; do
        mark
        run $model $user
        is $? 1 "user $user, $model: a program that is late all by itself fails"
        like "$(cat /tmp/run)" 'execution timeout \(1000 ms\) on Neuron Device 0 NC 0;' "in time"
        is "$(said)" "" "and leaves no line"
    done
done

# an engine that stops is the chip's fault, and looks the same to the other core
mark
fault nd0 engine-hang=1:core=1
run meet 65534
is $? 1 "an engine of the second core stops"
told 0 "an engine that stops"
ok "after a reset the cores meet again" run meet 65534

daemon --log-console
id=$(neuron-cli load --start --timeout 1 late.neff)
mark
got=$(neuron-cli infer "$id" 2>&1)
like "$got" 'NERR code 5$' "the daemon: NERR 5"
like "$got" 'nc0 waits for nc1 \(sp at byte 128' "and why"
told 0 "the daemon"
kill -TERM $pid
wait $pid

# who may say so: nobody of cores that wait for nothing, or that are another's
mark
ok "of one's own cores, which do nothing" ./driver-tool boast 65534 "$claim"
is "$(said)" "" "no line"
like "$(since)" 'process [0-9]+: x\.NEURON\.HW_ERR=HANG_ON_COLLECTIVES\.instance-id=i' "but a text like any other"
mark
run late 65534 &
while [ -n "$(jobs -r)" ]; do ./driver-tool say 65534 "$claim"; done
told 0 "of another process's core"
done_testing
