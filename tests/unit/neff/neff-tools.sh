#!/bin/bash
# SPDX-License-Identifier: MIT
# A NEFF read by programs of others: gzip, GNU tar, python's struct, json and hashlib.
# usage: neff-tools.sh PATH-OF-testmodel_write
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" matmul "$dir/x.neff"
"$1" matmul "$dir/again.neff"
cmp "$dir/x.neff" "$dir/again.neff"

tail -c +1025 "$dir/x.neff" > "$dir/payload.tgz"
gzip -t "$dir/payload.tgz"
tar tzf "$dir/payload.tgz" > "$dir/list"
LC_ALL=C sort -c "$dir/list"
printf '%s\n' kelf-0.json neff.json sg00/def.json sg00/pe.bin sg00/pe.json sg00/pool.bin \
	sg00/pool.json sg00/sp.bin sg00/sp.json sg00/w.bin | cmp - "$dir/list"
test "$(TZ=UTC tar tvzf "$dir/payload.tgz" | cut -c1-10 | sort -u)" = "-rw-r--r--"
test "$(TZ=UTC tar --full-time -tvzf "$dir/payload.tgz" | awk '{print $4, $5}' | sort -u)" = \
	"1970-01-01 00:00:00"

python3 - "$dir/x.neff" <<'PY'
import gzip, hashlib, io, json, struct, sys, tarfile
b = open(sys.argv[1], "rb").read()
pkg, head, data, major, minor = struct.unpack_from("<5Q", b, 0)
assert (pkg, head, data, major, minor) == (2, 1024, len(b) - 1024, 1, 0)
assert struct.unpack_from("<I", b, 168)[0] == 1            # the TensorFlow reader's rule
assert struct.unpack_from("<I", b, 476)[0] == 1
assert 1 <= max(b[480:544]) <= 64
assert b[172:188] == hashlib.md5(b[1024:]).digest() and b[188:204] == bytes(16)
assert struct.unpack_from("<Q", b, 544)[0] == 1 << 62
assert b[1024:1026] == b"\x1f\x8b" and b[1028:1032] == bytes(4)
tar = tarfile.open(fileobj=io.BytesIO(b[1024:]), mode="r:gz")
load = lambda n: json.loads(tar.extractfile(n).read())
kelf = load("kelf-0.json")
assert kelf == {"version": "0.5", "graphs": [{"name": "sg00", "definition": "sg00/def.json"}]}
definition = load("sg00/def.json")
assert definition["var"]["w"] == {"type": "file", "var_id": 1, "size": 16384, "file_name": "w.bin"}
assert definition["dma_queue"]["qin"] == {"type": "in", "owner": "pe", "num_queues": 1}
assert definition["pe"] == "pe.json" and definition["pe_instr"] == "pe.bin"
desc = load("sg00/pe.json")["dma"][0]["desc"][0]
assert desc["from"] == "w" and desc["from_sizes"] == [128, 128] and desc["to_steps"] == [1, 262144]
graph = load("neff.json")
assert graph["arg_nodes"] == [0] and graph["heads"] == [[1, 0, 0]] and graph["node_row_ptr"] == [0, 1, 2]
assert graph["attrs"]["shape"] == ["list_shape", [[128, 256], [64, 256]]]
assert graph["attrs"]["dltype"] == ["list_str", ["bfloat16", "float32"]]
PY
