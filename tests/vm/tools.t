#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vm: --instance inf1.6xlarge --metadata
# copy: tests/unit/neff/testmodel_write
# data: tests/vm/npy.sh
# The tools beside a program at work: neuron-run's choice of a chip, what neuron-monitor and neuron-top tell of its
# process, and of the instance. The program is hand-made: c = a + b.
. ./tap.sh
. ./npy.sh

npy '\x00\x00\x80\x3f' >a.npy
npy '\x00\x00\x00\x40' >b.npy
npy '\x00\x00\x40\x40' >want.npy
./testmodel_write add add.neff
run() { neuron-run add.neff -i a=a.npy -i b=b.npy -o "$@"; }

said=$(run out 2>&1)
like "$said" '^neuron-run: on nd0 ' "neuron-run takes the first chip"
ok "and its result is right" cmp out/c.npy want.npy
said=$(NEURON_EMU=inf1.xlarge run emu 2>&1)
is "$(grep -c '^neuron-run: on' <<<"$said")" 0 "in process when NEURON_EMU says so"
ok "with the same result" cmp emu/c.npy want.npy

cat >config <<'END'
{"period": "1s", "neuron_runtimes": [{"tag_filter": "^job$", "metrics": [{"type": "neuroncore_counters"}, {"type": "memory_used"},
 {"type": "execution_stats"}, {"type": "neuron_runtime_vcpu_usage"}]}], "system_metrics": [{"type": "neuron_hw_counters"}]}
END
mkfifo records
neuron-monitor -c config >records &
monitor=$!
exec 5<records
NEURON_PROCESS_TAG=job neuron-run add.neff -i a=a.npy -i b=b.npy -o busy --device nd0 -c 2 -r 1000000 >/dev/null 2>&1 &
job=$!
for ((i = 0; i < 100; i++)); do
    read -r record <&5
    if grep -q '"completed":[1-9]' <<<"$record"; then break; fi
done
like "$record" "\"pid\":$job,\"address\":\"\",\"neuron_runtime_tag\":\"job\",\"error\":\"\"" "neuron-monitor: the process and its tag"
like "$record" '"neuroncores_in_use":\{"2":\{"neuroncore_utilization":[0-9.]+,' "neuron-monitor: its core"
like "$record" '"neuroncore_memory_usage":\{"2":\{.*"tensors":[1-9]' "neuron-monitor: the core's memory"
like "$record" '"completed":[1-9][0-9]*,"completed_with_err":0' "neuron-monitor: its executions"
like "$record" '"total_latency":\{"p0":[0-9.e-]+,' "neuron-monitor: their latency"

like "$record" '"loaded_models":\[\{"name":"add","uuid":"[0-9a-f]{32}","model_id":[0-9]+,"is_running":true,"subgraphs":\{"sg_00":.*"neuroncore_index":2,"neuron_device_index":0' \
    "neuron-monitor: its model"

holders=$(neuron-ls --holders)
like "$holders" "^\| 0 +\| $job +\| [1-9][0-9]* +\| (yes|no) +\| neuron-run add.neff" "neuron-ls --holders: who works on a device"
like "$holders" "^\| 3 +\| $monitor +\| [1-9][0-9]* +\| (yes|no) +\| neuron-monitor -c config" "and who looks at it"
is "$(grep -c "neuron-ls" <<<"$holders")" 0 "and not itself"
like "$(rmmod neuron 2>&1)" 'in use|temporarily unavailable' "the module is theirs"
top=$(neuron-top --once)
like "$top" '>all<  1:job$' "neuron-top: a tab with its tag"
like "$top" "\[\+\] $job neuron-run add.neff" "neuron-top: the process"
like "$(run second 2>&1)" '^neuron-run: on nd1 ' "another neuron-run takes the next chip, whatever neuron-monitor looks at"
kill "$monitor"
exec 5<&-
run third --device nd0 >said 2>&1
is "$?" 1 "a busy chip is refused"
like "$(cat said)" "nd0 nc0-3 in use by pid $job \(neuron-run\)$" "and who uses it is said"
kill "$job"
wait "$job"

id=$(cat /sys/class/dmi/id/board_asset_tag)
like "$id" '^i-0[0-9a-f]{16}$' "an instance id in the firmware's tables"
like "$(neuron-ls --format modern)" "^instance-id: $id$" "neuron-ls shows it"
record=$(neuron-monitor | head -n 1)
like "$record" "\"instance_id\":\"$id\",\"instance_type\":\"inf1.6xlarge\"" "neuron-monitor: the same"
like "$record" '"ami_id":"ami-0[0-9a-f]{16}","subnet_id":"subnet-0[0-9a-f]{16}","error":""' "what only the metadata service tells"

neuron-rtd -g unix:/run/neuron.sock >/tmp/log 2>&1 &
for ((i = 0; i < 1000; i++)); do
    if [ -S /run/neuron.sock ]; then break; fi
    usleep 20000
done
version=$(neuron-rtd --version | awk '{ print $2 }')
like "$(neuron-ls --format modern)" "\| neuron-rtd -g [^|]*\| $version +\|$" "neuron-ls: the daemon's version, in the table"
like "$(neuron-ls -j)" "\"neuron_runtime_version\": \"$version\"" "and in JSON"
done_testing
