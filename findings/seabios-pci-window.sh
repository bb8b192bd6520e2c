#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SeaBIOS 1.16.3: 64-bit PCI space goes to the end of what the processor reaches, and where the memory map has something
# reserved there (for an AMD processor the 12 GiB below 1 TiB) once its own length lower, whatever is there: 512 GiB of
# BARs of a processor of 40 bits come at 0, over memory. Linux then places them anew, or, behind a bridge, not at all.
# 1.16.2 puts them above memory.
# usage: seabios-pci-window.sh [QEMU [BIOS]], of QEMU 7.1 or later
set -euo pipefail
qemu=${1:-qemu-system-x86_64} bios=${2:-/usr/share/seabios/bios-256k.bin}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$qemu" -nodefaults -no-user-config -display none -machine pc -accel tcg -cpu qemu64,phys-bits=40 -m 64 -no-reboot -bios "$bios" \
    -object memory-backend-ram,id=large,size=512G,reserve=off,prealloc=off -device nvme,serial=1,pmrdev=large \
    -chardev "file,id=bios,path=$log" -device isa-debugcon,iobase=0x402,chardev=bios 2>/dev/null &
until grep -q 'Searching bootorder' "$log" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
kill $!
wait $! || true
"$qemu" --version | head -n 1
grep -E '^SeaBIOS|phys-bits|PCI: 64:|size 8000000000' "$log" | sort -u
grep -q 'bar 4, addr 00000000, size 8000000000' "$log"
