#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# neuron-as and neuron-objdump as programs: one reads what the other writes, and each says what is
# wrong with its input. usage: tools.sh NEURON_AS NEURON_OBJDUMP NEURONX_CC HLO
set -uo pipefail
as=$1 objdump=$2 cc=$3 hlo=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "tools.sh: $*" >&2
    exit 1
}

cat > "$dir/a.s" <<'END'
; every shape of line
program_start version=1
ldweights p=128 src0=sbuf[0,0]:bf16[1:128] $S[3]>=1
matmul p=128 dst=psum[0,0]:fp32[1:512] src0=sbuf[0,0x1000]:bf16[1:512] accumulate $S[4]++@complete
END
"$as" -e pe -o "$dir/a.bin" "$dir/a.s" || fail "assembling"
[ "$(stat -c %s "$dir/a.bin")" -eq 192 ] || fail "three words are 192 bytes"
"$objdump" -d "$dir/a.bin" > "$dir/b.s" || fail "disassembling"
"$as" -o "$dir/b.bin" < "$dir/b.s" || fail "assembling what was disassembled"
cmp "$dir/a.bin" "$dir/b.bin" || fail "the words differ"

# each engine's stream of a compiled model is one that the engine executes, and comes back whole
"$cc" compile --framework XLA "$hlo" --target inf1 --output "$dir/m.neff" > /dev/null ||
    fail "compiling $hlo"
for engine in pe act pool sp; do
    "$objdump" -d -e "$engine" "$dir/m.neff" > "$dir/$engine.s" || fail "disassembling $engine"
    words=$(sed -n "s|^; sg00/$engine: \([0-9]*\) words|\1|p" "$dir/$engine.s")
    "$as" -e "$engine" -o "$dir/$engine.bin" "$dir/$engine.s" || fail "assembling $engine"
    [ "$(stat -c %s "$dir/$engine.bin")" -eq $((${words:-0} * 64)) ] || fail "$engine is cut"
done

printf 'nop\nnope\nnop p=1\n' > "$dir/bad.s"
"$as" -o "$dir/bad.bin" "$dir/bad.s" 2> "$dir/err" && fail "accepted a bad source"
grep -q "bad.s:2: unknown instruction 'nope'" "$dir/err" || fail "line 2 is not named"
grep -q "bad.s:3:" "$dir/err" || fail "line 3 is not named"
[ ! -e "$dir/bad.bin" ] || fail "left an output behind"
mkfifo "$dir/pipe"
cat "$dir/pipe" > /dev/null &
"$as" -o "$dir/pipe" "$dir/bad.s" 2> /dev/null && fail "accepted a bad source"
[ -p "$dir/pipe" ] || fail "removed what is no file of its own"
wait
"$as" -e sp -o "$dir/c.bin" "$dir/a.s" 2> /dev/null && fail "sp has no matmul"

# types that inf1 has not
echo "ldweights p=128 src0=sbuf[0,0]:fp8e4[1:128]" > "$dir/d.s"
"$as" -t trn1 -e pe -o "$dir/d.bin" "$dir/d.s" || fail "trn1 has weights of fp8"
"$objdump" -d "$dir/d.bin" | grep -q 'sbuf\[0,0\]:fp8e4\[1:128\]' || fail "fp8 does not come back"
"$as" -e pe -o "$dir/e.bin" "$dir/d.s" 2> /dev/null && fail "inf1 has no fp8"
"$as" -t inf9 -o "$dir/e.bin" "$dir/d.s" 2> "$dir/err" && fail "there is no inf9"
grep -q "unknown target 'inf9': inf1, inf2, trn1, trn1n or trn2" "$dir/err" || fail "the targets are not named"

# instructions that inf1 has not
cat > "$dir/f.s" <<'END'
iota p=16 dst=sbuf[0,0]:int32[1:8] pattern=-4,3[0:1,0:1,0:1,1:8]
topk p=16 dst=sbuf[0,0]:bf16[1:1] src0=sbuf[0,0x40]:bf16[1:2] dst1=sbuf[0,0x80]:uint32[1:1] count=5 total=20
END
cat > "$dir/g.s" <<'END'
range_select p=1 dst=sbuf[0,0]:bf16[1:4] src0=sbuf[0,0x40]:bf16[1:4] op0=ge op1=lt reduce_cmd=load_reduce scalar0=@sbuf[0,0x80]:fp32 scalar1=@sbuf[0,0x84]:fp32 imm=2
stream_shuffle p=32 dst=sbuf[0,0]:bf16[1:4] src0=sbuf[0,0x40]:bf16[1:4] shuffle=1,0,3,2,255,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
END
for engine in f/pool g/dve; do
    file=${engine%/*}
    "$as" -t trn2 -e "${engine#*/}" -o "$dir/$file.bin" "$dir/$file.s" || fail "trn2's $file"
    "$objdump" -d "$dir/$file.bin" > "$dir/$file.again" || fail "disassembling $file"
    "$as" -o "$dir/$file.2" < "$dir/$file.again" || fail "assembling what was disassembled of $file"
    cmp "$dir/$file.bin" "$dir/$file.2" || fail "the words of $file differ"
    while read -r line; do
        grep -qF "$line" "$dir/$file.again" || fail "$line does not come back"
    done < "$dir/$file.s"
    "$as" -o "$dir/h.bin" -e "${engine#*/}" "$dir/$file.s" 2> /dev/null && fail "inf1 has none of $file"
done

head -c 100 "$dir/a.bin" > "$dir/cut.bin"
"$objdump" -d "$dir/cut.bin" > "$dir/cut.s" && fail "accepted a cut stream"
grep -q '36 bytes are left over' "$dir/cut.s" || fail "the rest is not named"
head -c 64 /dev/zero > "$dir/zero.bin"
"$objdump" -d "$dir/zero.bin" > "$dir/zero.s" && fail "accepted zeroed memory"
grep -q illegal "$dir/zero.s" || fail "zeroed memory is not named"
"$objdump" -d "$dir/none.bin" 2> /dev/null && fail "accepted a file that is not there"
exit 0
