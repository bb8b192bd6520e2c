#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# host: boots a micro guest and a Debian guest
# The jobs of examples/ci, command by command as the files have them, but for those of apt: GitLab's driver job on this
# project's own module as the repository, GitHub's client job on a small client of the daemon. Both forms have the same
# commands. YAML is read by PyYAML.
# shellcheck source=tap.sh
. ./tap.sh
top=${NEURON_TOP:-$(cd ../.. && pwd)}
work=$(mktemp -d)
export XDG_CONFIG_HOME=$work/config XDG_RUNTIME_DIR=$work/run PATH=$work/bin:$PATH
mkdir -m 700 "$work/run"
mkdir "$work/bin" "$work/client" && chmod 755 "$work"
trap 'neuron-vm stop --all --force 2>/dev/null; rm -rf "$work"' EXIT
# as the image has it
ln -s "$top/scripts/neuron-vm" "$work/bin/"

# commands FILE JOB: a line each, without what installs packages
commands() {
    /usr/bin/python3 - "$top/examples/ci/$1" "$2" <<'END'
import re, sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
job = job.get("jobs", job)[sys.argv[2]]
lines = job["script"] + job.get("after_script", []) if "script" in job else [step["run"] for step in job["steps"] if "run" in step]
for line in lines:
    line = re.sub(r"\$\{\{ matrix\.instance \}\}", "$INSTANCE", " ".join(line.split()))
    line = " && ".join(part for part in line.split(" && ") if not part.startswith("apt-get"))
    if line:
        print(line)
END
}
# the words of each form's neuron-vm commands, sorted
calls() {
    commands "$1" "$2" | sed 's/ && neuron-vm/\nneuron-vm/g; s/; neuron-vm/\nneuron-vm/g' | grep '^neuron-vm' | tr -d '"' |
        grep -v journalctl | sort
}

for job in driver client; do
    is "$(calls github.yml $job)" "$(calls gitlab.yml $job)" "$job: both forms have the same commands"
done

# a driver's repository: this module's source, and a test that counts the cores of the chips it is loaded for
mkdir "$work/src"
version=$("$top/scripts/dkms-source" "$work/src")
driver=$work/src/neuron-$version
mkdir -p "$driver/tests"
# shellcheck disable=SC2016
echo 'test "$(neuron-ls --json-output | grep -c nc_count)" = 4 && test -e /sys/module/neuron && echo four chips' >"$driver/tests/run"
count=0
while IFS= read -r line; do
    ok "driver: $line" env -C "$driver" INSTANCE=inf1.6xlarge sh -ec "$line"
    count=$((count + 1))
done < <(commands gitlab.yml driver)
is "$count" 2 "two commands"
ok "the kernel's words are kept" test -s "$driver/console.log"

# a client's repository
mkdir "$work/client/tests"
: >"$work/client/tests/__init__.py"
cat >"$work/client/tests/test_ready.py" <<'END'
import unittest

import grpc


class Ready(unittest.TestCase):
    def test_ready(self):
        grpc.channel_ready_future(grpc.insecure_channel("unix:/run/neuron.sock")).result(60)
END
cat >"$work/client/tests/faults.py" <<'END'
import subprocess
import unittest


class Faults(unittest.TestCase):
    def test_chips(self):
        self.assertEqual(subprocess.run(["neuron-ls"], stdout=subprocess.DEVNULL).returncode, 0)
END
count=0
while IFS= read -r line; do
    ok "client: $line" env -C "$work/client" sh -ec "$line"
    count=$((count + 1))
done < <(commands github.yml client)
is "$count" 5 "five commands"
is "$(neuron-vm list | wc -l)" 1 "and no guest is left"
done_testing
