#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# neuron-cli against a daemon on chips in its process, as TAP; NumPy is the oracle.
# usage: cli.sh NEURON_RTD NEURON_CLI (and NEURONX_CC in the environment)
set -uo pipefail
rtd=$(realpath "$1")
cli=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
count=0
work=$(mktemp -d "${TMPDIR:-/tmp}/rtd-cli.XXXXXX")
pid=
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$work"' EXIT
export NEURON_EMU=inf1.6xlarge NEURON_RTD_ADDRESS="unix:$work/n.sock"

ok() {
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        { cat "$work/out" "$work/err"; } 2>/dev/null | tail -n 20 | sed 's/^/#   /'
    fi
}

run() { "$cli" "$@" >"$work/out" 2>"$work/err"; }

# says TEXT: the last output is exactly this
says() { [ "$(cat "$work/out")" = "$1" ]; }

cd "$work" || exit 1
PYTHONPATH=$here NEURON_RTD=$rtd /usr/bin/python3 -B - >"$work/out" 2>"$work/err" <<'EOP'
import numpy as np
from harness import sum_and_product
open("m.neff", "wb").write(sum_and_product())
open("other.neff", "wb").write(sum_and_product(2))
rng = np.random.default_rng(5)
for name in "ab":
    np.save(f"{name}.npy", rng.integers(-99, 99, (101, 32)).astype(np.float32))
    np.save(f"{name}4.npy", np.load(f"{name}.npy")[:4])
np.save("x.npy", rng.normal(size=120).astype(np.float32))
np.save("none.npy", np.load("a4.npy")[:0])
for name, shape in {"x": (4, 3), "y": (4,), "z": (2,), "w": (1, 2)}.items():
    np.save(f"sized-{name}.npy", rng.integers(-9, 9, shape).astype(np.float32))
np.save("int.npy", np.load("a4.npy").astype(np.int32))
EOP
ok $? "models and inputs are made"

run list-ncg
[ $? = 1 ] && grep -q "UNAVAILABLE" "$work/err" && [ ! -s "$work/out" ]
ok $? "no daemon: status 1, UNAVAILABLE on stderr, nothing on stdout"
"$rtd" -g "$NEURON_RTD_ADDRESS" >/dev/null 2>&1 &
pid=$!
for _ in $(seq 600); do
    if [ -S "$work/n.sock" ]; then break; fi
    sleep 0.1
done

run list-ncg
says $'Device count 4 NC count 16\nFound 0 NCG\'s'
ok $? "list-ncg without groups"
run create-ncg --nc-count 3 && says "NCG ID 1 NC count 3"
ok $? "create-ncg"
run load --ncg-id 1 m.neff && says 10001
ok $? "load into a group prints the id"
run load --ncg-id 0 --copies 2 --ninfer 2 m.neff && says $'10002\n10003'
ok $? "load of copies in groups of their own"
run load --enable-direct-file-load m.neff && says 10004
ok $? "load by path into the daemon's own group"
run list-ncg
says "Device count 4 NC count 16
Found 4 NCG's
+--------+----------+--------------------+----------------+
| NCG ID | NC COUNT | DEVICE START INDEX | NC START INDEX |
+--------+----------+--------------------+----------------+
|      1 |        3 |                  0 |              0 |
|      2 |        1 |                  0 |              3 |
|      3 |        1 |                  1 |              0 |
|      4 |        1 |                  1 |              1 |
+--------+----------+--------------------+----------------+"
ok $? "list-ncg"
run share-ncg --with all 2 4 && run share-ncg 3 && PYTHONPATH=$here /usr/bin/python3 -B - >"$work/out" 2>&1 <<'EOP'
import os, types
from harness import Client
client = Client(types.SimpleNamespace(endpoint=os.environ["NEURON_RTD_ADDRESS"]))
print(*(group.sharing for group in client.ext("list_owners").eg))
EOP
says "0 2 1 2"
ok $? "share-ncg: for everything, for inference by default"
run start 10001 10002 && run list-model && head -n 1 "$work/out" | grep -qx "Found 4 models" &&
    [ "$(grep -c ' READY ' "$work/out")" = 3 ] && [ "$(grep -c ' STANDBY ' "$work/out")" = 1 ] &&
    grep -q '^|  *UUID  *| MODEL ID | MODEL STATUS | NCG ID |' "$work/out"
ok $? "list-model shows what was started"

check() {
    /usr/bin/python3 -B - "$@" <<'EOP' >>"$work/out" 2>&1
import sys
import numpy as np
for path in sys.argv[1:]:
    s, p = np.load(f"{path}/output0.npy"), np.load(f"{path}/output1.npy")
    a, b = (np.load(f"{n}.npy")[: len(s)] for n in "ab")
    assert s.shape in ((101, 32), (4, 32)) and np.array_equal(s, a + b) and np.array_equal(p, a * b), path
EOP
}

run infer 10001 -i input0=a4.npy -i input1=b4.npy -o one && check one
ok $? "infer: one batch"
run infer 10001 -i parameter.2=b4.npy -i parameter.1=a4.npy -o named && check named
ok $? "infer: inputs by their names in the model that was compiled"
"$NEURONX_CC" compile --framework ONNX "$here/../../data/onnx/own/test_dyn_twice/model.onnx" --narrow-64bit \
    --output dyn.neff 2>"$work/err" && run load --start dyn.neff && dyn=$(cat "$work/out") &&
    run infer "$dyn" -i x=x.npy -o cut && grep -qF "output 'output2': " "$work/err" &&
    run infer "$dyn" -i x=x.npy -o whole --whole && [ ! -s "$work/err" ] && run unload "$dyn" &&
    /usr/bin/python3 -B - >"$work/out" 2>&1 <<'EOP'
import numpy as np
n = int(np.load("whole/output6.npy"))
assert 0 < n < 120 and np.array_equal(np.load("cut/output2.npy"), np.load("whole/output2.npy")[:, :n])
EOP
ok $? "infer: an output whose size the data decide is cut, but for --whole"
"$NEURONX_CC" compile --framework XLA "$here/../../data/hlo_ops/dynamic_parameters_4_3_4_2/module.hlo.pb" \
    --target inf1 --output sized.neff 2>"$work/err" && run load --start sized.neff && sized=$(cat "$work/out") &&
    run infer "$sized" -i x=sized-x.npy -i y=sized-y.npy -i z=sized-z.npy -i w=sized-w.npy -o sized &&
    grep -qxF "neuron-cli: input 'x': 4 of 6 of dimension 0 are there (input4)" "$work/err" &&
    /usr/bin/python3 -B - >"$work/out" 2>&1 <<'EOP'
import numpy as np
x, y, z, w = (np.load(f"sized-{name}.npy") for name in "xyzw")
for i, want in enumerate([x.sum(0), x.sum(), x[:2] + z[:, None], y + y, w + w]):
    got = np.load(f"sized/output{i}.npy")
    assert got.shape == want.shape and np.array_equal(got, want), (i, got, want)
EOP
ok $? "infer: inputs shorter than the bound, and their sizes"
run infer "${sized-}" -i x=a4.npy -i y=sized-y.npy -i z=sized-z.npy -i w=sized-w.npy -o sized
[ $? = 1 ] && grep -qF "a4.npy: float32 (4, 32), expected float32 (at most 6, at most 5)" "$work/err" && run unload "$sized"
ok $? "infer: an input longer than the bound is refused"
run infer --all --rows -i input0=a.npy -i input1=b.npy -o spread && check spread &&
    grep -q '^101 rows, 26 inferences on 3 models, ' "$work/out"
ok $? "infer --all --rows: 101 rows in batches of 4 over three models"
run infer --all --rows --shm -i input0=a.npy -i input1=b.npy -o shm && check shm
ok $? "the same in shared memory"
! compgen -G "/dev/shm/neuron-cli-*" >/dev/null
ok $? "which leaves no file"
run infer 10001 10002 --each --rows --in-flight 3 -i input0=a.npy -i input1=b.npy -o each &&
    check each/10001 each/10002 && grep -q '^202 rows, 52 inferences on 2 models, 3 in flight: ' "$work/out"
ok $? "infer --each: every model does all rows"

# refused WORDS TEXT COMMAND... : status 1 and the text on stderr
refused() {
    local text=$1
    shift
    run "$@"
    [ $? = 1 ] && grep -qF -- "$text" "$work/err"
    ok $? "refused: $text"
}
refused "int32 (4, 32), expected float32 (4, 32)" infer 10001 -i input0=int.npy -i input1=b4.npy
refused "(101, 32), expected float32 (4, 32)" infer 10001 -i input0=a.npy -i input1=b4.npy
refused "0 rows in batches of 4, expected one at least" infer 10001 --rows -i input0=none.npy -i input1=b.npy
refused "101 rows in batches of 4, expected 4 in 4" infer 10001 --rows -i input0=a4.npy -i input1=b.npy
refused "this input of the model is not given" infer 10001 -i input0=a4.npy
refused "the model has no such input" infer 10001 -i input0=a4.npy -i input1=b4.npy -i x=b4.npy
refused "it has input0 (parameter.1), input1 (parameter.2)" infer 10001 -i x=a4.npy
refused "input0: this input of the model is given twice" infer 10001 -i input0=a4.npy -i parameter.1=b4.npy
refused "nothing.npy: cannot open" infer 10001 -i input0=nothing.npy -i input1=b4.npy
refused "not running" infer 10003 -i input0=a4.npy -i input1=b4.npy
refused "a model is not loaded" infer 99 -i input0=a4.npy -i input1=b4.npy
refused "NERR code 3" start 99
refused "NERR code 3" share-ncg 99
refused "NERR code 2" destroy-ncg 1
refused "No such file" load nothing.neff
head -c 1000 m.neff >short.neff
refused "short.neff" load --ncg-id 0 short.neff
refused "NERR code 2" load short.neff
run load --ncg-id 0 --start other.neff
refused "different NEFFs" infer --all --rows -i input0=a.npy -i input1=b.npy
for words in "" "nonsense" "load" "list-ncg extra" "start abc" "share-ncg --with everyone 1" "infer" "load --ncg-id x m.neff"; do
    # shellcheck disable=SC2086
    run $words
    [ $? = 2 ]
    ok $? "status 2: $words"
done

run stop 10001 && run unload 10001 && run destroy-ncg 1
ok $? "stop, unload, destroy-ncg"
run reset && run list-model && says "Found 0 models" && run list-ncg && grep -q "Found 0" "$work/out"
ok $? "reset removes everything"
"$cli" list-ncg >/dev/full 2>"$work/err"
[ $? = 1 ] && [ "$(cat "$work/err")" = "neuron-cli: standard output: No space left on device" ]
ok $? "a full standard output is said"
kill -TERM $pid
wait $pid
ok $? "the daemon ends with status 0"
echo "1..$count"
