#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: boots the Debian guest
# The demo as a user sees it: the table of neuron-ls, sixteen cores with one result, JAX's.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
build=${NEURON_BUILD:-$top/build/release}

out=$("$top/scripts/demo" --build "$build" --instance inf1.6xlarge </dev/null 2>&1)
is "$?" 0 "the demo ends well"
is "$(printf '%s' "$out" | tr -dc '\033\r' | wc -c)" 0 "no colours and no carriage returns in a file"
is "$(grep -c 'inferences: ' <<<"$out")" 0 "nor progress that would be written over"
like "$out" '^\$ neuron-cli load [^0-9]*16 --start --timeout 60$' "the command that loads, on a line of its own"
like "$out" '^10001( 100[01][0-9]){15}$' "and the models' numbers on the next"
printf '# %s\n' "${out//$'\n'/$'\n'# }"
for row in 'c.0 |       0 |      4 | 4096 MB   | 4096 MB   |    1 |    0' \
    'd.0 |       1 |      4 | 4096 MB   | 4096 MB   |    1 |    1' \
    'e.0 |       2 |      4 | 4096 MB   | 4096 MB   |    1 |    1' \
    'f.0 |       3 |      4 | 4096 MB   | 4096 MB   |    0 |    1'; do
    like "$out" "^\| 0000:00:1${row//|/\\|} \| unix:/run/neuron.sock \| +[0-9]+ \| [0-9.]+ \|$" \
        "neuron-ls as root: 1${row%% *}"
    like "$out" "^\| 0000:00:1${row//|/\\|} \|$" "and as an ordinary user"
done
like "$out" 'accuracy on the 449 images held out of training: 99\.' "accuracy on the held-out part"
like "$out" 'JAX .* tolerance .*: ok' "agreement with JAX"
like "$out" '16 of 16 runs gave the same bits as digits/in-process/output0.npy: ok' "the same bits on 16 cores as on the host"
like "$out" '^1797 images on each of 16 NeuronCores in .* images a second' "images a second"
done_testing
