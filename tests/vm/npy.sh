# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests whose models take float32 arrays of (128, 64).

# repeated COUNT BYTES: printf's escapes, many times
repeated() {
    local chunk='' i
    for ((i = 0; i < 256; i++)); do chunk+=$2; done
    for ((i = 0; i < $1 / 256; i++)); do
        # shellcheck disable=SC2059
        printf "$chunk"
    done
}

# npy BYTES: a float32 (128, 64) array of one value
npy() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (128, 64), }"
    repeated 8192 "$1"
}
