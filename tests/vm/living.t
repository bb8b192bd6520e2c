#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: boots Debian guests
# A Debian guest to live in: in the background, over ssh, with a network, a disk that keeps, a shared directory and
# forwarded ports; and what neuron-vm refuses. The host's own urllib, sha256sum and resolver judge.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
work=$(mktemp -d)
export XDG_CONFIG_HOME=$work/config XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$work/run"
mkdir "$work/share" && chmod 755 "$work"
mkdir "$work/disks"
# with little room, where that can be had
mount -t tmpfs -o size=192m disks "$work/disks" 2>/dev/null
disk=$work/disks/disk.qcow2

vm() { "$top/neuron-vm/neuron-vm" "$@"; }
in_a() { vm ssh a -- "$@" 2>"$work/err"; }
# refused NAME PATTERN ARGS...: status 125 and one line
refused() {
    local name=$1 pattern=$2
    shift 2
    vm "$@" >"$work/out" 2>&1 </dev/null
    is "$?" 125 "$name: 125"
    like "$(cat "$work/out")" "^neuron-vm: .*$pattern" "and a line that says so"
}
trap 'vm stop --all --force 2>/dev/null; umount "$work/disks" 2>/dev/null; rm -rf "$work"' EXIT

# before any guest
refused "a name with a slash" "is no name for a VM" run --name ../a --detach
refused "a name that is none" "is no name for a VM" stop 'a b'
refused "no such VM" "no VM named b is running" stop b
refused "no VM at all" "no VM is running" ssh
refused "a port too high" "ports are 1 to 65535" run --forward 70000:80
refused "a port that is none" "not of the form" run --forward 80
refused "QEMU's own options in a forward" "not of the form" run --forward 8080:80,restrict=on
refused "an address that is none" "is no address" run --forward 256.0.0.1:8080:80
python3 -c 'import signal, socket
taken = socket.create_server(("127.0.0.1", 0))
print(taken.getsockname()[1], flush=True)
signal.pause()' >"$work/taken" &
taken=$!
until [ -s "$work/taken" ]; do sleep 0.1; done
refused "a port that another program has" "port $(cat "$work/taken") of 127.0.0.1: Address already in use" \
    run --forward "$(cat "$work/taken"):80"
kill "$taken"
refused "--snapshot alone" "--snapshot needs --disk" run --snapshot
refused "a copy within the host" "neither is in a VM" cp "$work/a" "$work/b"
refused "a copy from one VM to another" "one VM at a time" cp a:x b:y
echo "not an image" >"$work/text"
refused "a disk that is no image" "not a qcow2 image" run --disk "$work/text"
refused "a disk where none can be" "No such file or directory" run --disk "$work/none/disk"
refused "a disk without a size" "a disk has" run --disk "$work/small" --disk-size 1M
ok "and nothing is made" test ! -e "$work/small"

# images by hand: version 3, clusters of 64 KiB, 1 GiB; with a backing file, with an external data file, without our name
image() {
    python3 -c 'import struct, sys
backing, incompatible = int(sys.argv[2]), int(sys.argv[3])
head = struct.pack(">IIQIIQIIQQIIQQQQII", 0x514649fb, 3, 512 * backing, 11 * backing, 16, 1 << 30, 0, 2, 65536, 131072, 1, 0, 0,
    incompatible, 0, 0, 4, 104)
open(sys.argv[1], "wb").write((head.ljust(512, b"\0") + b"/etc/shadow").ljust(65536, b"\0"))' "$@"
}
image "$work/backing" 1 0
refused "a disk with a backing file" "has a backing file" run --disk "$work/backing"
image "$work/data" 0 4
refused "a disk with a data file" "has a backing file, an encryption or another file" run --disk "$work/data"
image "$work/other" 0 0
refused "somebody else's disk" "not an image that neuron-vm made" run --disk "$work/other"

# the guest
mkdir -p "$work/run/neuron-vm" && chmod 700 "$work/run/neuron-vm"
echo garbage >"$work/run/neuron-vm/a.json" && echo >"$work/run/neuron-vm/a.lock" && echo >"$work/run/neuron-vm/a.qmp"
is "$(vm list | wc -l)" 1 "what a dead VM left is not taken for one"
like "$(vm list --all)" '^a +died ' "but shown as one that died"
vm run --detach --name a --disk "$disk" --share "$work/share" --forward 0:8000 >"$work/out" 2>&1
is "$?" 0 "a guest in the background"
like "$(cat "$work/out")" '^a is up after [0-9]+ s: neuron-vm ssh a$' "it says how long it took"
sed "s/^/# /" "$work/out"
like "$(vm list)" '^a +running +inf1.xlarge +1 .* [0-9]+->22 [0-9]+->8000' "list: it, its instance and ports"
is "$(stat -c %a "$work/config/neuron-vm" "$work"/config/neuron-vm/{id_ed25519,ssh_host_ed25519_key} | paste -sd' ')" "700 600 600" \
    "the keys are the user's alone"
in_a sh -c 'exit 7'
is "$?" 7 "ssh: the command's status"
is "$(in_a printf '%s\n' 'two  words' "it's")" $'two  words\nit\'s' "and its words"
is "$(in_a sudo id -u)" 0 "sudo"
like "$(vm ssh a </dev/null)" 'Debian with 1 emulated Neuron chip as in inf1.xlarge' "a login tells what is here"
like "$(in_a neuron-ls)" '0000:00:1f.0' "neuron-ls"
is "$(in_a systemctl is-system-running)" running "no unit has failed"
like "$(in_a journalctl -b --no-pager -u neuron-rtd)" 'neuron-rtd' "the journal is the user's to read"
like "$(in_a man neuron-run)" '^NEURON-RUN\(1\)' "the manual"
like "$(in_a man ls)" 'LS\(1\)' "and the distribution's"
is "$(in_a python3 -c 'import grpc
channel = grpc.insecure_channel("unix:/run/neuron.sock")
grpc.channel_ready_future(channel).result(60)
print("ready")')" ready "Python's gRPC reaches the daemon"
ok "an editor" in_a sh -c 'command -v nano && command -v vi'
if host=$(getent ahostsv4 deb.debian.org | awk 'NR == 1 { print $1 }') && [ -n "$host" ]; then
    is "$(in_a getent ahostsv4 deb.debian.org | awk 'NR == 1 { print $1 }')" "$host" "names as the host resolves them"
    in_a sh -c 'grep -h -- -updates /etc/apt/sources.list >/tmp/list'
    in_a sudo apt-get -qq -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::sourcelist=/tmp/list update
    is "$?" 0 "apt reaches the sources"
    is "$(in_a sh -c 'ls /var/lib/apt/lists | grep -c updates.*InRelease')" 1 "and has their lists"
else
    skip "names and apt" "the host resolves nothing"
fi

head -c 300000 /dev/urandom >"$work/bytes"
vm cp "$work/bytes" a:there && vm cp a:there "$work/back"
ok "cp: there and back" cmp "$work/bytes" "$work/back"
mkdir -p "$work/tree/in" && echo inner >"$work/tree/in/file"
vm cp -r "$work/tree" :
is "$(in_a cat tree/in/file)" inner "cp -r, to the only VM"
echo from-host >"$work/share/file"
is "$(in_a cat /mnt/share/file)" from-host "the shared directory"
in_a sh -c 'mkdir www && echo served >www/index.html && cd www && setsid python3 -m http.server 8000 >/dev/null 2>&1 </dev/null &'
port=$(vm list | grep -o '[0-9]*->8000' | cut -d- -f1)
is "$(python3 -c 'import sys, time, urllib.request
for attempt in range(60):
    try:
        print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode(), end="")
        break
    except OSError:
        time.sleep(1)' "http://127.0.0.1:$port/")" served "a forwarded port"

refused "a second VM of the name" "a VM named a runs already" run --detach --name a
refused "a disk that another VM has" "another VM has it" run --name b --disk "$disk"
refused "and to look at" "another VM has it" run --name b --disk "$disk" --snapshot
is "$(vm exec --name c --no-module -- echo beside)" beside "another guest beside it"
vm fault --vm a nd0 dma-abort=1 >"$work/out" 2>&1
like "$(vm fault)" 'dma-abort' "fault finds it by name, and as the only one"
chmod 644 "$work/config/neuron-vm/id_ed25519"
refused "a key that others can read" "others can reach this" ssh a
chmod 600 "$work/config/neuron-vm/id_ed25519"

if mountpoint -q "$work/disks"; then
    in_a sh -c 'yes | head -c 250000000 >big; sync; sha256sum <big >sum' &
    filling=$!
    for _ in {1..300}; do
        if vm list | grep 'disk full' >/dev/null; then break; fi
        sleep 1
    done
    like "$(vm list)" '^a +disk full' "a disk without room on the host: list"
    like "$(vm logs a)" 'finds no room in .*/disks: the guest waits' "and the log say so"
    mount -o remount,size=1g "$work/disks"
    wait "$filling"
    is "$?" 0 "the guest goes on when there is room"
    ok "with every byte" in_a sh -c 'sha256sum <big | cmp - sum && rm big sum'
else
    skip "a disk without room on the host" "no tmpfs can be mounted"
fi

in_a sh -c 'echo kept >kept; sync; sudo touch /etc/kept'
pid=$(vm list | awk '$1 == "a" { print $5 }')
kill -KILL "$pid"
like "$(vm list)" '^a +running' "a VM outlives a neuron-vm that was killed"
ok "and can be stopped" vm stop a
is "$(vm list | wc -l)" 1 "it has powered off"
like "$(vm list --all)" '^a +died' "of which neuron-vm saw nothing"
like "$(vm logs a)" 'reboot: Power down' "logs: its console, to the end"
is "$(vm logs a | tr -cd '\033' | wc -c)" 0 "without sequences for a terminal"

# the disk again
vm run --detach --name a --disk "$disk" --snapshot >"$work/out" 2>&1
is "$?" 0 "once more, without keeping anything"
is "$(in_a sh -c 'cat kept there | sha256sum; ls /etc/kept')" "$(cat <(echo kept) "$work/bytes" | sha256sum)"$'\n/etc/kept' \
    "what was written is there"
sum=$(sha256sum "$disk")
in_a sh -c 'rm kept; sync'
ok "stop --force" vm stop --force a
is "$(sha256sum "$disk")" "$sum" "nothing was written to the disk"
like "$(vm list --all)" '^a +ended' "list --all: that it has ended"
done_testing
