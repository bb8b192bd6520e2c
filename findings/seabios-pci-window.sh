#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SeaBIOS 1.16.3: 64-bit PCI space goes to the end of what the processor reaches, and where the memory map has something
# reserved there (for an AMD processor the 12 GiB below 1 TiB) once its own length lower, whatever is there: 512 GiB of
# BARs of a processor of 40 bits come at 0, over memory. Linux then places them anew, or, behind a bridge, not at all.
# 1.16.2 puts them above memory.
# usage: seabios-pci-window.sh   (Debian 12, amd64: its QEMU 7.2 is unpacked beside Debian 13's SeaBIOS)
set -euo pipefail
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
mkdir -p "$d"/{lists/partial,cache/archives/partial}
printf 'deb http://deb.debian.org/debian %s main\n' bookworm trixie > "$d/sources.list"
apt=(apt-get -qq -o Dir::Etc::sourcelist="$d/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$d/lists"
    -o Dir::Cache="$d/cache" -o APT::Sandbox::User=)
"${apt[@]}" update
(cd "$d" && "${apt[@]}" download seabios=1.16.3-2 {qemu-system-{x86,common,data},lib{pmem1,rdmacm1,ibverbs1,vdeplug2,fuse3-3}}/bookworm \
    lib{aio1,ndctl6,daxctl1,nl-3-200,nl-route-3-200,capstone4,slirp0}/bookworm)
for package in "$d"/*.deb; do dpkg -x "$package" "$d"; done
qemu=("$d/usr/bin/qemu-system-x86_64" -L "$d/usr/share/qemu")
export QEMU_MODULE_DIR=$d/usr/lib/x86_64-linux-gnu/qemu
export LD_LIBRARY_PATH=$d/usr/lib/x86_64-linux-gnu:$d/lib/x86_64-linux-gnu
"${qemu[@]}" -nodefaults -no-user-config -display none -machine pc -accel tcg -cpu qemu64,phys-bits=40 -m 64 -no-reboot \
    -bios "$d/usr/share/seabios/bios-256k.bin" \
    -object memory-backend-ram,id=large,size=512G,reserve=off,prealloc=off -device nvme,serial=1,pmrdev=large \
    -chardev "file,id=bios,path=$d/log" -device isa-debugcon,iobase=0x402,chardev=bios 2>"$d/said" &
until grep -qs 'Searching bootorder' "$d/log" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
kill $! || cat "$d/said"
wait $! || true
"${qemu[@]}" --version | head -n 1
grep -E '^SeaBIOS|phys-bits|PCI: 64:|size 8000000000' "$d/log" | sort -u
grep -q 'bar 4, addr 00000000, size 8000000000' "$d/log"
