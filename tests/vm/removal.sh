#!/bin/bash
# SPDX-License-Identifier: MIT
# removal.sh ROUNDS SEED: the guest's side of removal.t, on four chips. Says what it did, round by round, and what was
# not as it must be; the host unplugs a chip when it reads "unplug CHIP", and plugs it when it reads "plug CHIP".
# On types of chips without programs each of the four has a user that copies, and is unbound.
. ./npy.sh
bus=(0000:00:1c.0 0000:00:1d.0 0000:00:1e.0 0000:00:1f.0)
hows=(unplug unbind)
driver=/sys/bus/pci/drivers/neuron
add=(--input a=one.npy --input b=two5.npy)
round=0
RANDOM=$2

# Reports what was not as it must be, and all logs, for whoever looks for the reason
wrong() {
    local file
    echo "wrong: round $round: $*"
    for file in log client program stream{,0,1,2,3}; do
        echo "$file: $(tail -n 4 "/tmp/$file" 2>/dev/null)"
    done >&2
    echo "kernel: $(dmesg | tail -n 25)" >&2
}
# soon TEXT COMMAND...: until it succeeds; a minute of a guest that does nothing else is long
soon() {
    local what=$1 tries=0
    shift
    until "$@" 2>/dev/null; do
        if [ $((tries++)) -gt 3000 ]; then
            wrong "waited in vain for $what"
            echo w >/proc/sysrq-trigger # who is blocked, into the kernel's log
            return 1
        fi
        usleep 10000
    done
}
gone() { [ ! -e "/dev/neuron$1" ]; }
alive() { kill -0 "$1" 2>/dev/null; }

# right CHIP: a program and copies on it, byte for byte
right() {
    rm -rf /tmp/run
    neuron-run add.neff -d "nd$1" -i a=one.npy -i b=two5.npy -o /tmp/run >/dev/null 2>/tmp/err ||
        wrong "chip $1: neuron-run: $(tail -n 1 /tmp/err)"
    cmp -s /tmp/run/c.npy sum.npy || wrong "chip $1: a wrong sum"
    if [ $((RANDOM % 4)) = 0 ]; then copies "$1"; fi
}
copies() { [ "$(./stream node "$1" 1 1 2>&1 | tail -n 1)" = "$copied" ] || wrong "chip $1: wrong copies"; }

# The bytes that the module counts as allocated, when nobody is there
allocated() {
    cat /sys/devices/virtual/neuron_device/neuron*/neuron_core*/stats/memory_usage/*/present | awk '{ n += $1 } END { print n }'
}

daemon() {
    rm -f /run/neuron.sock
    neuron-rtd -g unix:/run/neuron.sock --log-console -t 0000:00:1c.0 -t 0000:00:1d.0 >/tmp/log 2>&1 &
    pid=$!
    soon "the daemon" test -S /run/neuron.sock
    neuron-cli load --copies 8 --start --timeout 60 add.neff >/dev/null || wrong "the daemon's models do not load"
}
stop() {
    kill -TERM "$pid"
    wait "$pid" || wrong "the daemon's status after SIGTERM is $?"
}

# The daemon has the first two chips, a program executes on the third, another one copies on the last
serve() {
    daemon
    neuron-cli infer --all --each --repeat 1000000 "${add[@]}" -o /tmp/each >/dev/null 2>/tmp/client &
    client=$!
}
execute() {
    neuron-run add.neff -d nd2 -r 1000000 -i a=one.npy -i b=two5.npy -o /tmp/run2 >/dev/null 2>/tmp/program &
    executing=$!
}
copy() {
    : >/tmp/stream
    ./stream node 3 0 1 >/tmp/stream &
    copying=$!
}

# progress CHIP: what its user has done
progress() {
    if [ "$1" = 3 ]; then
        wc -l </tmp/stream
    else
        cat "/sys/devices/virtual/neuron_device/neuron$1/"neuron_core*/stats/status/success/total |
            awk '{ n += $1 } END { print n }'
    fi
}
further() { [ "$(progress "$1")" -gt "$2" ]; }
works() { soon "chip $1's user to go on" further "$1" "$(progress "$1")"; }

# ended USER STATUS FILE TEXT: a user of what went says so, with the right status
ended() {
    [ "$2" = 1 ] || wrong "$1 ended with status $2"
    grep -q "$4" "$3" || wrong "$1 said: $(tail -n 1 "$3")"
}

# failed CHIP: its user ended with an error that says so, and nobody else did
failed() {
    local others user
    case $1 in
    2)
        wait "$executing"
        ended neuron-run $? /tmp/program 'No such device'
        others=("$client" "$copying")
        ;;
    3)
        wait "$copying"
        ended stream $? /tmp/stream '^failed: copy: No such device'
        others=("$client" "$executing")
        ;;
    *)
        wait "$client"
        ended "the daemon's client" $? /tmp/client 'NERR code'
        others=("$executing" "$copying")
        ;;
    esac
    for user in $pid "${others[@]}"; do alive "$user" || wrong "without chip $1 a user of another one ended"; done
}

# without HOW CHIP: it goes in the middle of its user's work, and comes back
without() {
    works "$2"
    case $1 in
    unbind)
        echo "${bus[$2]}" >$driver/unbind
        gone "$2" || wrong "unbound, the node is there"
        failed "$2"
        echo "${bus[$2]}" >$driver/bind
        ;;
    unplug)
        echo "unplug $2"
        soon "the node to go" gone "$2" # a busy guest would miss a chip that is back at once
        echo "plug $2"
        failed "$2"
        ;;
    esac
    soon "the node" test -e "/dev/neuron$2"
}

# again CHIP: it gives the right bytes, though a daemon lives that lost it, and its user begins anew. Who copies compares
# every byte, so that its going on is enough most times.
again() {
    case $1 in
    2) right 2 && execute ;;
    3)
        if [ $((RANDOM % 8)) = 0 ]; then right 3; fi
        copy
        works 3
        ;;
    *)
        right "$1"
        stop
        copies "$1"
        serve
        ;;
    esac
}

# A chip that was plugged is the last on its bus, and in the bus's order nodes are numbered: all are found anew, and bound
# one after the other, since udev loads the module as soon as it sees the first of them
load() {
    local address
    for address in "${bus[@]}"; do echo 1 >"/sys/bus/pci/devices/$address/remove"; done
    echo 0 >/sys/bus/pci/drivers_autoprobe
    echo 1 >/sys/bus/pci/rescan
    modprobe neuron || wrong "modprobe: $?"
    soon "the driver" test -e $driver/bind # udev's may be the one that loads it
    for address in "${bus[@]}"; do echo "$address" >$driver/bind; done
    echo 1 >/sys/bus/pci/drivers_autoprobe
    for chip in 0 1 2 3; do soon "a node" test -e /dev/neuron$chip; done
}

users() { echo "$pid" "$client" "$executing" "$copying"; }

# The module does not go while its nodes are open. When their users are killed it does, whatever they were at.
unload() {
    local user
    if rmmod neuron 2>/tmp/err; then wrong "the module was unloaded under its users"; fi
    grep -q 'in use\|temporarily unavailable' /tmp/err || wrong "rmmod: $(cat /tmp/err)"
    for user in $(users); do alive "$user" || wrong "a refused rmmod ended somebody"; done
    if [ $((RANDOM % 2)) = 0 ]; then stop; fi
    # shellcheck disable=SC2046
    kill -KILL $(users) 2>/dev/null
    soon "rmmod" rmmod neuron
    # shellcheck disable=SC2046
    wait $(users)
    if compgen -G "/dev/neuron*" >/dev/null; then wrong "unloaded, a node is there"; fi
    load
    right $((RANDOM % 4))
    [ "$(allocated)" = 0 ] || wrong "$(allocated) bytes are still allocated"
    [ "$(cat /sys/module/neuron/refcnt)" = 0 ] || wrong "the module is still in use"
}

# Killed processes give their memory back in their own time. Pages on the processors' own lists are free too: there are tens
# of MiB of them, and MemFree does not count them.
free() {
    local most=0 now i
    for ((i = 0; i < 5; i++)); do
        sync
        echo 3 >/proc/sys/vm/drop_caches
        now=$(awk '/^MemFree:/ { n += $2 } $1 == "count:" { n += 4 * $2 } END { print n }' /proc/meminfo /proc/zoneinfo)
        if [ "$now" -gt "$most" ]; then most=$now; fi
        sleep 1
    done
    echo "$most"
}

# A guest that does not go on says where its processes stand
watch() {
    local before now=none task args
    while sleep 100; do
        before=$now
        now=$(cat /tmp/at)
        [ "$before" = "$now" ] || continue
        echo "at $now:" >&2
        for task in /proc/[0-9]*/task/[0-9]*; do
            args=$(tr '\0' ' ' <"$task/cmdline")
            [ -n "$args" ] || continue # the kernel's own
            echo "${task#/proc/} $args: $(grep State "$task/status"), system call $(cat "$task/syscall")" >&2
            cat "$task/stack" >&2
        done
        echo w >/proc/sysrq-trigger
        dmesg | tail -n 60 >&2
    done
}
at() { echo "round $round: $*" >/tmp/at; }

./testmodel_write add add.neff
npy '\x00\x00\x80\x3f' >one.npy
npy '\x00\x00\x20\x40' >two5.npy
npy '\x00\x00\x60\x40' >sum.npy
copied=$(./stream emu:inf1.xlarge 0 1 1 | tail -n 1)
start() {
    serve
    execute
    copy
}

if [ "$(cat /sys/class/neuron_device/neuron0/device/device)" != 0x7064 ]; then
    bus=()
    for chip in 0 1 2 3; do bus+=("$(basename "$(readlink /sys/class/neuron_device/neuron$chip/device)")"); done
    hows=(unbind)
    copy() {
        : >"/tmp/stream$1"
        ./stream node "$1" 0 1 >"/tmp/stream$1" &
        copying[$1]=$!
    }
    start() { for chip in 0 1 2 3; do copy $chip; done; }
    stop() { :; }
    users() { echo "${copying[@]}"; }
    progress() { wc -l <"/tmp/stream$1"; }
    failed() {
        local chip
        wait "${copying[$1]}"
        ended stream $? "/tmp/stream$1" '^failed: copy: No such device'
        for chip in 0 1 2 3; do
            [ "$chip" = "$1" ] || alive "${copying[chip]}" || wrong "without chip $1 chip $chip's user ended"
        done
    }
    right() { copies "$1"; }
    again() {
        copy "$1"
        works "$1"
    }
    load() {
        modprobe neuron || wrong "modprobe: $?"
        for chip in 0 1 2 3; do soon "a node" test -e /dev/neuron$chip; done
    }
fi

at start
watch &
watching=$!

chips=(0 1 2 2 2 3 3 3 3 3 3) # a round of the daemon's takes longest
start
while [ $round -lt "$1" ]; do
    for ((i = 0; i < 9 && ++round < $1; i++)); do
        chip=${chips[RANDOM % ${#chips[@]}]}
        how=${hows[RANDOM % ${#hows[@]}]}
        at "$how $chip"
        without "$how" "$chip"
        at "after $how $chip"
        again "$chip"
        echo "round $round: $how chip $chip"
    done
    [ $i -lt 9 ] || round=$((round + 1))
    at unload
    for chip in 0 1 2 3; do works $chip; done
    unload
    echo "round $round: unload"
    now=$(free)
    first=${first-$now}
    start
done
# shellcheck disable=SC2046
kill -KILL $watching $(users)
wait
echo "free $first $now"
