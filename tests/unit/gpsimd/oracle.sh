#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The instructions of insns.c, and random ones of vectors.py, on our processor and under qemu-riscv32.
# usage: oracle.sh GPS_RUN NEURON_CUSTOM_OP [VECTORS [SEED]]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) cross=${CROSS_COMPILE-riscv64-unknown-elf-}
for program in "${cross}gcc" qemu-riscv32; do
	if ! command -v "$program" > /dev/null; then echo "$program is missing: skipped" && exit 77; fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# NAME LEAST CPU MARCH SOURCE...: the same functions as an operator, and but for what carries the words out for Linux
compare() {
	local name=$1 least=$2 cpu=$3 words compile=("-march=$4" -mabi=ilp32f -O2)
	shift 4
	"$tool" -o "$work/$name.elf" "$@" -- "${compile[@]}"
	"${cross}gcc" "${compile[@]}" -DLINUX -ffreestanding -nostdlib -static -Wl,--no-relax "$@" -o "$work/linux" -lgcc
	qemu-riscv32 -cpu "$cpu" "$work/linux" > "$work/expected"
	words=$(($(stat -c %s "$work/expected") / 4))
	if ((words < least)); then echo "only $words words under qemu-riscv32" && exit 1; fi
	"$run" "$work/$name.elf" "$name" "out:uint32:$words:$work/got"
	cmp "$work/expected" "$work/got"
	echo "$words results of $name are equal"
}

run=$1 tool=$2
compare insns 100000 rv32 rv32imf_zicsr "$here/insns.c"
python3 "$here/vectors.py" "${3-3000}" "${4-1}" > "$work/vectors.S"
compare vectors "${3-3000}" rv32,Zve32f=true,vlen=512,elen=32 rv32imf_zve32f_zvl512b_zicsr "$here/vectors.c" "$work/vectors.S"
