#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The instructions of insns.c on our processor and under qemu-riscv32. usage: oracle.sh GPS_RUN NEURON_CUSTOM_OP
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) cross=${CROSS_COMPILE-riscv64-unknown-elf-}
for program in "${cross}gcc" qemu-riscv32; do
	if ! command -v "$program" > /dev/null; then echo "$program is missing: skipped" && exit 77; fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$2" -o "$work/insns.elf" "$here/insns.c"
# as the operator's: the same functions, but for what carries the words out
"${cross}gcc" -march=rv32imf -mabi=ilp32f -O2 -DLINUX -ffreestanding -nostdlib -static -Wl,--no-relax "$here/insns.c" -o "$work/linux" -lgcc
qemu-riscv32 "$work/linux" > "$work/expected"
words=$(($(stat -c %s "$work/expected") / 4))
if ((words < 100000)); then echo "only $words words under qemu-riscv32" && exit 1; fi
"$1" "$work/insns.elf" insns "out:uint32:$words:$work/got"
cmp "$work/expected" "$work/got"
echo "$words results are equal"
