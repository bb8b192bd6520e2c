#!/bin/bash
# SPDX-License-Identifier: MIT
# neuronx-cc as the front ends call it: options, exit codes, messages, and no file on failure.
# usage: cli.sh PATH-OF-neuronx-cc TESTS-DATA-DIRECTORY
set -euo pipefail
cc=$(realpath "$1") data=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
model=$data/hlo/add/module.hlo.pb

fail() {
    echo "cli.sh: $*" >&2
    exit 1
}
# refused STATUS TEXT ARGS...: exits with it, says so in one line, leaves no file
refused() {
    local status=$1 text=$2 rc=0
    shift 2
    rm -f "$dir/x.neff"
    "$cc" "$@" >"$dir/out" 2>"$dir/err" || rc=$?
    [ "$rc" -eq "$status" ] || fail "$*: exit $rc, expected $status"
    [ ! -s "$dir/out" ] || fail "$*: prints on standard output"
    grep -qF -- "$text" "$dir/err" || fail "$*: says '$(cat "$dir/err")', expected '$text'"
    [ -z "$(find "$dir" -name 'x.neff*')" ] || fail "$*: leaves a file"
}

"$cc" --version | grep -Ex 'neuronx-cc [0-9]+\.[0-9]+\.[0-9]+(-[0-9]+)?(-g[0-9a-f]+)?(-dirty)?' >/dev/null || fail "--version"
"$cc" --help | grep '^Usage: neuronx-cc compile' >/dev/null || fail "--help"
"$cc" list-operators --framework XLA | grep -x convolution >/dev/null || fail "list-operators"

own=$data/onnx/own
"$cc" compile --framework ONNX "$own/test_open_dimension/model.onnx" --input-shape x=2x3x4 --target inf1 \
    --output "$dir/o.neff" >"$dir/out" 2>&1 || fail "ONNX: $(cat "$dir/out")"
[ ! -s "$dir/out" ] || fail "ONNX: prints $(cat "$dir/out")"
"$cc" compile --framework ONNX "$own/test_gather_embedding/model.onnx" --narrow-64bit --output "$dir/o.neff" 2>"$dir/err"
grep -qF 'warning: 64-bit' "$dir/err" || fail "--narrow-64bit without a warning"
"$cc" compile --framework ONNX "$own/test_topk_long/model.onnx" --input-value "x=$(seq -s, 1000)" --output "$dir/o.neff"
refused 1 "give --input-shape" compile --framework ONNX "$own/test_open_dimension/model.onnx" --output "$dir/x.neff"
# every reason, in a line of its own
LC_ALL=C sed 's/Relu/Rxlu/; s/MaxPool/MxxPool/' "$own/test_convolutional/model.onnx" >"$dir/odd.onnx"
refused 1 "odd.onnx: MxxPool 'd': operator not supported" compile --framework ONNX "$dir/odd.onnx" --output "$dir/x.neff"
grep -qF "neuronx-cc: $dir/odd.onnx: Rxlu 'c': operator not supported" "$dir/err" || fail "one obstacle of two"
[ "$(wc -l <"$dir/err")" -eq 2 ] || fail "two obstacles in $(wc -l <"$dir/err") lines"
# what stands in for an obstacle uses up what there is: that is not told
refused 1 "calls nested more than 64 deep" compile --framework XLA "$data/hlo_ops/nested_deep.hlo.pb" --output "$dir/x.neff"
[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "nested loops: says '$(cat "$dir/err")'"
refused 1 "not an ONNX model" compile --framework ONNX "$0" --output "$dir/x.neff"
refused 1 "of an ONNX model; an HLO module has its own" compile --framework XLA "$data/hlo/add/module.hlo.pb" --input-shape x=2x3 --output "$dir/x.neff"
refused 2 "--input-shape" compile --framework ONNX "$model" --input-shape x=2,3 --output "$dir/x.neff"
refused 2 "--input-value" compile --framework ONNX "$model" --input-value 3 --output "$dir/x.neff"
"$cc" list-operators --framework ONNX | grep -x MatMul >/dev/null || fail "list-operators of ONNX"

# the issue's own line, TensorFlow's and nkipy's
"$cc" compile --framework XLA "$model" --target inf1 --output "$dir/a.neff" >"$dir/out" 2>&1
[ ! -s "$dir/out" ] || fail "a quiet compilation prints"
"$cc" compile --fast-math=none "$model" --framework XLA --verbose=35 --pipeline compile SaveTemps \
    --output "$dir/b.neff" --fp32-cast=matmult --enable-fast-context-switch \
    --enable-mixed-precision-accumulation --enable-saturate-infinity --neuroncore-pipeline-cores=1 2>"$dir/err"
grep -q 'wrote [0-9]* bytes' "$dir/err" || fail "--verbose says nothing"
(cd "$dir" && "$cc" compile --framework XLA "$model" --pipeline compile SaveTemps --target inf1 -O1 --output=c.neff)
# the same program each time: only the uuid (offset 204) differs
for x in b c; do
    [ "$(cmp -l "$dir/a.neff" "$dir/$x.neff" | awk '$1 < 205 || $1 > 220' | wc -l)" -eq 0 ] || fail "$x.neff differs"
done
# a pipeline's file names its cores (offsets 168 and 476) and has a subgraph for each
"$cc" compile --framework XLA "$data/hlo/attention/module.hlo.pb" --output "$dir/p.neff" --neuroncore-pipeline-cores 4
[ "$(od -An -tu4 -j168 -N4 "$dir/p.neff") $(od -An -tu4 -j476 -N4 "$dir/p.neff")" = "          4           4" ] || fail "cores in the header"
[ "$(tail -c +1025 "$dir/p.neff" | tar tz | grep -c 'sg0[0-3]/def.json')" -eq 4 ] || fail "subgraphs"
[ "$(stat -c %a "$dir/a.neff")" = "$(printf '%o' $((0666 & ~$(umask))))" ] || fail "mode of the file"

# what the passes do, as text that reads again; unknown passes are refused
"$cc" compile --framework XLA "$data/hlo/dense/module.hlo.pb" --dump-ir-after all --ir-constants \
    --output "$dir/e.neff" >"$dir/ir"
grep '^// after ' "$dir/ir" | sed 's,// after ,,' | sort -u >"$dir/passes"
for pass in read simplify windows autocast contract flatten layout; do
    grep -qx "$pass" "$dir/passes" || fail "--dump-ir-after all has no $pass"
done
awk '/^\/\/ after/ { n++ } n == 1' "$dir/ir" >"$dir/first.ir"
"$cc" compile --framework IR "$dir/first.ir" --output "$dir/f.neff"
"$cc" compile --framework XLA "$data/hlo_ops/while_inside/module.hlo.pb" --dump-ir-after read --ir-constants \
    --output "$dir/e.neff" >"$dir/loops.ir"
"$cc" compile --framework IR "$dir/loops.ir" --dump-ir-after loops --output "$dir/f.neff" >"$dir/parts"
[ "$(grep -c '^// after loops' "$dir/parts")" -eq 5 ] || fail "the parts of a program with loops"
# what no loader has a place for
printf '%s\n' 'module "m"' '%0 = f32[400000,1000] parameter index=0 "x"' '%1 = f32[400000,1000] add %0, %0 "y"' \
    '%2 = f32[1,1000] slice %1 start={7,0} stride={1,1} "s"' 'return %2' >"$dir/large.ir"
refused 1 "1600000000 bytes, a region of DRAM has 1073741824" compile --framework IR "$dir/large.ir" --output "$dir/x.neff"
"$cc" compile --framework IR "$dir/large.ir" --target trn1 --output "$dir/f.neff" || fail "a large variable for trn1"
refused 2 "takes a pass" compile --framework XLA "$model" --dump-ir-after nothing --output "$dir/x.neff"
refused 2 "-O takes" compile --framework XLA "$model" -O7 --output "$dir/x.neff"
refused 1 "not the tensor IR but an HLO module: give --framework XLA" compile --framework IR "$model" --output "$dir/x.neff"

# the report's counts are those of the file
"$cc" compile --framework XLA "$data/hlo/dense/module.hlo.pb" --report "$dir/r.json" --output "$dir/e.neff"
for engine in pe act pool sp; do
    [ "$(jq ".engines.$engine | .instructions == ([.opcodes[]] | add) and .occupancy >= 0 and .occupancy <= 1" \
        "$dir/r.json")" = true ] || fail "the report's engine $engine"
done
[ "$(jq '.engines.pe.opcodes.matmul > 0 and .dram.total > 0 and .sbuf.high_water <= .sbuf.size' \
    "$dir/r.json")" = true ] || fail "the report"
"$cc" compile --framework XLA "$data/hlo_ops/while_inside/module.hlo.pb" --report "$dir/rl.json" --output "$dir/e.neff"
[ "$(jq -c '[(.parts | length), .loops]' "$dir/rl.json")" = '[5,[{"first":1,"last":3},{"first":2,"last":2}]]' ] ||
    fail "the report's loops"
"$cc" compile --framework XLA "$data/hlo/dense/module.hlo.pb" -O1 --report "$dir/r1.json" --output "$dir/e.neff"
[ "$(jq -s 'map([.engines[].instructions] | add) | .[0] < .[1]' "$dir/r.json" "$dir/r1.json")" = true ] ||
    fail "-O1 fuses as -O2 does"

# what lies the wrong way round goes by blocks, though its dimensions are short ones in two places
"$cc" compile --framework XLA "$data/hlo_large/keys.hlo.pb" --auto-cast none --report "$dir/r.json" --output "$dir/e.neff"
[ "$(jq '[.queues[].pieces] | add < 20000' "$dir/r.json")" = true ] || fail "keys are moved element by element"

# what is not a file is written to and stays what it is
mkfifo "$dir/pipe"
cat "$dir/pipe" >"$dir/d.neff" &
"$cc" compile --framework XLA "$model" --output "$dir/pipe"
[ -p "$dir/pipe" ] || fail "the pipe was replaced"
wait
[ "$(stat -c %s "$dir/d.neff")" -eq "$(stat -c %s "$dir/a.neff")" ] || fail "the pipe got another file"

refused 1 "No such file" compile --framework XLA "$dir/none.pb" --output "$dir/x.neff"
refused 1 "not an HLO module" compile --framework XLA "$0" --output "$dir/x.neff"
refused 1 "Is a directory" compile --framework XLA "$dir" --output "$dir/x.neff"
refused 1 "No such file" compile --framework XLA "$model" --output "$dir/none/x.neff"
refused 2 "inf1" compile --framework XLA "$model" --target trn9 --output "$dir/x.neff"
refused 2 "bf16 or fp16 on this target, inf1" compile --framework XLA "$model" --auto-cast-type tf32 --output "$dir/x.neff"
refused 2 "auto, chip, always or never" compile --framework XLA "$model" --compress-constants=often --target trn1 --output "$dir/x.neff"
refused 2 "bf16, fp16, tf32 or fp8_e4m3" compile --framework XLA "$model" --auto-cast-type fp4 --target trn1 --output "$dir/x.neff"
"$cc" compile --framework XLA "$model" --auto-cast matmult --auto-cast-type tf32 --target trn1 --output "$dir/x.neff" 2>"$dir/err" ||
    fail "tf32 for trn1"
[ ! -s "$dir/err" ] || fail "tf32 for trn1 says $(cat "$dir/err")"
# products are narrowed by default for inf1 alone: its program is that of matmult, the others' that of none
for target in inf1 inf2 trn1 trn2; do
    default=none
    [ "$target" != inf1 ] || default=matmult
    for set in none matmult ''; do
        "$cc" compile --framework XLA "$data/hlo/dense/module.hlo.pb" --target "$target" ${set:+--auto-cast "$set"} --print-ir \
            --output "$dir/x.neff" >"$dir/ir.${set:-default}"
    done
    cmp -s "$dir/ir.none" "$dir/ir.matmult" && fail "$target: none is matmult"
    cmp -s "$dir/ir.default" "$dir/ir.$default" || fail "$target: the default is not $default"
done
"$cc" compile --framework XLA "$model" --auto-cast-type fp16 --target trn1 --output "$dir/x.neff" 2>"$dir/err"
grep -qF 'warning: --auto-cast-type changes nothing' "$dir/err" || fail "a type for nothing without a warning"
rm "$dir/x.neff"

# what callers of today pass
"$cc" compile "$model" --framework XLA --verbose info --native-int64=enabled --implicit-integer-downcast dot,pow --implicit-integer-downcast=none \
    --disable-mixed-precision-accumulation --distribution-strategy llm-training --logfile "$dir/log" --output "$dir/g.neff" 2>"$dir/err"
grep -q 'wrote [0-9]* bytes' "$dir/log" || fail "the log says nothing"
cmp -s "$dir/log" "$dir/err" || fail "the log is not what --verbose says"
[ "$(cmp -l "$dir/a.neff" "$dir/g.neff" | awk '$1 < 205 || $1 > 220' | wc -l)" -eq 0 ] || fail "these options change the program"
refused 1 "not an HLO module" compile --framework XLA "$0" --logfile "$dir/log" --output "$dir/x.neff"
cmp -s "$dir/log" "$dir/err" || fail "an error is not in the log"
refused 1 "$dir/none/log: No such file" compile --framework XLA "$model" --logfile "$dir/none/log" --output "$dir/x.neff"
refused 2 "default, all, none or a list" compile --framework XLA "$model" --implicit-integer-downcast dot,none --output "$dir/x.neff"
refused 2 "default, all, none or a list" compile --framework XLA "$model" --implicit-integer-downcast "" --output "$dir/x.neff"
refused 2 "default, enabled or disabled" compile --framework XLA "$model" --native-int64 on --output "$dir/x.neff"
refused 2 "one or the other" compile --framework XLA "$model" --narrow-64bit --native-int64 enabled --output "$dir/x.neff"
refused 2 "XLA" compile --framework TENSORFLOW "$model" --output "$dir/x.neff"
refused 2 "--framework" compile "$model" --output "$dir/x.neff"
refused 2 "input file" compile --framework XLA --output "$dir/x.neff"
refused 2 "two input files" compile --framework XLA "$model" "$model" --output "$dir/x.neff"
refused 2 "bad option" compile --framework XLA "$model" --no-such-option --output "$dir/x.neff"
refused 2 "auto-cast" compile --framework XLA "$model" --auto-cast some --output "$dir/x.neff"
for n in 0 17 x ''; do
    refused 2 "--neuroncore-pipeline-cores takes 1 to 16" compile --framework XLA "$model" --neuroncore-pipeline-cores "$n" \
        --output "$dir/x.neff"
done
refused 2 "unknown command" decompile
refused 2 "command" --framework XLA

# an operation that is not supported: its name, and where it stands in the user's program
sed 's/maximum/maximun/' "$data/hlo/maximum_minimum/module.hlo.pb" >"$dir/bad.pb"
refused 1 "maximun 'max" compile --framework XLA "$dir/bad.pb" --output "$dir/x.neff"
refused 1 "(make.py:" compile --framework XLA "$dir/bad.pb" --output "$dir/x.neff"

# 64-bit types: only with the flag, and then with a warning
refused 1 "narrow-64bit" compile --framework XLA "$data/hlo_ops/narrowed/module.hlo.pb" --output "$dir/x.neff"
"$cc" compile --framework XLA "$data/hlo_ops/narrowed/module.hlo.pb" --narrow-64bit --output "$dir/w.neff" 2>"$dir/err"
[ "$(cat "$dir/err")" = "neuronx-cc: warning: 64-bit types are narrowed to 32 bits (--narrow-64bit)" ] ||
    fail "--narrow-64bit says '$(cat "$dir/err")'"
[ -s "$dir/w.neff" ] || fail "--narrow-64bit wrote nothing"
"$cc" compile --framework XLA "$data/hlo_ops/narrowed/module.hlo.pb" --native-int64 disabled --output "$dir/v.neff" 2>"$dir/err"
[ "$(cmp -l "$dir/w.neff" "$dir/v.neff" | awk '$1 < 205 || $1 > 220' | wc -l)" -eq 0 ] || fail "--native-int64 disabled is not --narrow-64bit"
refused 1 "narrow-64bit" compile --framework XLA "$data/hlo_ops/narrowed/module.hlo.pb" --native-int64 enabled --output "$dir/x.neff"
