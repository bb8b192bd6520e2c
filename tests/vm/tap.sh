# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# TAP for shell tests: source it, call ok, is and like, end with done_testing.

tap_count=0
tap_failed=0

# point STATUS NAME
point() {
    tap_count=$((tap_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_count - $2"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_count - $2"
    fi
}

# ok NAME COMMAND ARGS...: the command succeeds
ok() {
    local name=$1 out status=0
    shift
    out=$("$@" 2>&1) || status=$?
    point "$status" "$name"
    if [ "$status" -ne 0 ]; then printf '%s\n' "status $status" "$out" | sed 's/^/#   /'; fi
}

# is GOT WANTED NAME
is() {
    if [ "$1" = "$2" ]; then
        point 0 "$3"
    else
        point 1 "$3"
        printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2" | sed 's/^/#   /'
    fi
}

# like GOT EXTENDED-REGEX NAME
like() {
    if grep -qE -- "$2" <<<"$1"; then
        point 0 "$3"
    else
        point 1 "$3"
        printf 'got:\n%s\nwanted something like: %s\n' "$1" "$2" | sed 's/^/#   /'
    fi
}

# skip NAME REASON
skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # skip $2"
}

# unload: rmmod; a kernel that is made to release late what sysfs shows lets nothing of the same name in before
unload() {
    rmmod neuron || return
    while [ -e /sys/bus/pci/drivers/neuron ]; do usleep 5000; done
}

# qmp_open: QEMU's monitor, for a test with "# monitor:" in its head
qmp_open() {
    local port tries=0 found=
    until [ -n "$found" ] || [ $((tries++)) -gt 3000 ]; do # the port's name comes after the port
        for port in /sys/class/virtio-ports/*; do
            if grep -qx neuron.monitor "$port/name"; then found=/dev/${port##*/}; fi
        done
        if [ -z "$found" ]; then usleep 10000; fi
    done
    exec 9<>"$found"
    read -r _ <&9
    qmp '{"execute":"qmp_capabilities"}'
}

# qmp JSON: one command to the monitor; fails when it is refused
qmp() {
    local line
    printf '%s\n' "$1" >&9
    while read -r line <&9; do
        case $line in
        *'"return"'*) return 0 ;;
        *'"error"'*) echo "$line" >&2; return 1 ;;
        esac
    done
}

# qmp_set CHIP PROPERTY VALUE: a value as JSON, of a chip by the name that neuron-vm gives it
qmp_set() { qmp "{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"/machine/peripheral/$1\",\"property\":\"$2\",\"value\":$3}}"; }

done_testing() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
}
