#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: the memory of the QEMU process beside its guest
# neuron-trim: the translated code of an idle guest goes back to the host, and the guest goes on.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work/run

mkdir "$work/shared"
cat >"$work/script" <<'END'
neuron-ls >/mnt/share/before
touch /mnt/share/up
until [ -e /mnt/share/go ]; do sleep 1; done
neuron-ls >/mnt/share/after
END
"$top/neuron-vm/neuron-vm" exec --accel tcg --build "${NEURON_BUILD:-$top/build/release}" --name test \
    --share "$work/shared" --copy "$work/script" -- sh script &
guest=$!
until [ -e "$work/shared/up" ] || ! kill -0 $guest 2>/dev/null; do sleep 0.05; done
qemu=$(pgrep -f "qemu-system-x86_64 .*$work/run")
# KiB of code that TCG translated: what is writable, executable and of no file
translated() {
    awk '/^[0-9a-f]+-[0-9a-f]+ / { code = $2 == "rwxp" && NF == 5 } /^Rss:/ && code { kb += $2 }
         END { print kb + 0 }' "/proc/$qemu/smaps" 2>/dev/null
}

booted=$(translated)
ok "a guest that booted has more than 16 MiB of it" test "${booted:-0}" -gt 16384
# waits until there is less, or the guest has ended; what it goes on with is translated again at once
until left=$(translated) && [ "$left" -lt 8192 ] 2>/dev/null || ! kill -0 $guest 2>/dev/null; do sleep 0.2; done
ok "when it is idle that goes back: less than 8 MiB" test "${left:-16384}" -lt 8192
touch "$work/shared/go"
wait $guest
is "$?" 0 "the guest goes on to its end"
is "$(cat "$work/shared/after")" "$(cat "$work/shared/before")" "with the same answers"
done_testing
