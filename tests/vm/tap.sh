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

done_testing() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
}
