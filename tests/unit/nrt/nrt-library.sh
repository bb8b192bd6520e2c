#!/bin/bash
# SPDX-License-Identifier: MIT
# libnrt.so.1 as other people's programs meet it: soname, symbol versions, a program of the public
# header, the same program linked against an unversioned stub, programs of both levels of the
# asynchronous API, and dlopen with dlsym.
# usage: nrt-library.sh LIBNRT NRT_SMOKE TESTMODEL_WRITE
set -euo pipefail # so no grep -q at the end of a pipe: it would end the writer by SIGPIPE
lib=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
src=$(dirname "$0") top=$(dirname "$0")/../../..
export NEURON_EMU=inf1.xlarge

readelf -d "$lib" | grep 'SONAME.*\[libnrt\.so\.1\]' >/dev/null
nm -D --defined-only "$lib" | grep ' nrt_load@@NRT_2\.0\.0$' >/dev/null
# what is exported is what the public headers declare, and our own programs' additions; of the asynchronous
# API at each level what that has, and 3.0 is the default
names() { awk -F '\t' '/^n/ && $2 !~ /\(/ { print $2 }' "$top/tests/data/nrt/$1" | sort; }
versioned() { nm -D --defined-only "$lib" | sed -nE "s/.* T (n[a-z]+_[a-z0-9_]+)$1\$/\1/p" | sort; }
diff <(versioned '@@?NRT_2\.0\.0') <(names functions.txt)
diff <(versioned '@@NRT_3\.0\.0') <(names async-3.0.txt)
diff <(versioned '@NRT_2\.0\.0') <(names functions.txt | grep ^nrta_)
if nm -D --defined-only "$lib" | grep -vE '@(NRT_2\.0\.0|@NRT_2\.0\.0|@NRT_3\.0\.0)$| (NRT_|nrtx_|NRTX_)'; then
	echo "foreign symbols are exported"
	exit 1
fi
"$3" add "$dir/add.neff"
"$2" "$dir/add.neff" | grep -x '4 cores, 8192 sums'

# programs of a sanitized library have to be sanitized
flags=()
if nm -D --undefined-only "$lib" | grep __asan_init >/dev/null; then
	flags=(-fsanitize=address -fsanitize=undefined)
fi
mkdir "$dir/stub" "$dir/old" "$dir/run"
cp "$lib" "$dir/run/libnrt.so.1"
ln -s libnrt.so.1 "$dir/run/libnrt.so"
# Stubs of the same soname, made from the header's names: one without versions, as a client's build has it, and
# one with all at NRT_2.0.0, as the library was before there was another level
grep -ohE '\bnrta?_[a-z_]+\(' "$top"/include/nrt/*.h | sort -u | sed 's/(/(void) {}/; s/^/void /' > "$dir/stub.c"
echo 'NRT_2.0.0 { global: nrt*; local: *; };' > "$dir/old.map"
cc -w -shared -fPIC -Wl,-soname,libnrt.so.1 -o "$dir/stub/libnrt.so" "$dir/stub.c"
cc -w -shared -fPIC -Wl,-soname,libnrt.so.1 -Wl,--version-script,"$dir/old.map" -o "$dir/old/libnrt.so" "$dir/stub.c"
# asynchronous LEVEL LIBRARY [VERSION]: a program of that level, linked with that library, works with this one
asynchronous() {
	cc -DLEVEL="$1" "${flags[@]}" -I"$top/include" -o "$dir/async" "$src/nrta_client.c" -L"$dir/$2" -lnrt -Wl,--allow-shlib-undefined
	diff <(nm -D --undefined-only "$dir/async" | sed -nE 's/.* nrta_tensor_write(@.*)?/\1/p') <(echo "${3-}")
	LD_LIBRARY_PATH=$dir/run "$dir/async" | grep -x "level $1" >/dev/null
}
asynchronous 2 old @NRT_2.0.0
asynchronous 2 stub # the loader takes the first node
asynchronous 3 run @NRT_3.0.0

# the rest is not worth a program with sanitizers of its own
if [ ${#flags[@]} -gt 0 ]; then exit 0; fi
cc -I"$top/include" -o "$dir/client" "$src/nrt_smoke.c" -L"$dir/stub" -lnrt
LD_LIBRARY_PATH=$dir/run "$dir/client" "$dir/add.neff" | grep -x '4 cores, 8192 sums' >/dev/null

# the count before nrt_init, by dlsym, as libfabric asks
LD_LIBRARY_PATH=$dir/run python3 - <<'PY'
import ctypes
nrt = ctypes.CDLL("libnrt.so.1")
n = ctypes.c_uint32()
assert nrt.nrt_get_total_nc_count(ctypes.byref(n)) == 0 and n.value == 4
for name in ("nrt_tensor_allocate", "nrt_tensor_free", "nrt_tensor_get_va", "nrt_memcpy_to_device",
             "nrt_get_dmabuf_fd", "nrt_profile_start", "nrt_load_collectives"):
    getattr(nrt, name)
PY

# what is not there is said once, in the runtime's form of a line, where the environment wants it
absent() {
	LD_LIBRARY_PATH=$dir/run env "$@" python3 - <<'PY'
import ctypes
nrt = ctypes.CDLL("libnrt.so.1")
image = (ctypes.c_uint64 * 4)()
assert [nrt.nrt_set_pool_eng_ucode(ctypes.byref(image)) for _ in range(3)] == [2, 2, 2]
PY
}
absent NEURON_RT_LOG_LEVEL=error 2> "$dir/console"
grep -cE '^[0-9]{4}-[A-Z][a-z]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{6} +[0-9]+:[0-9]+ +ERROR  NRT:nrt_set_pool_eng_ucode   the pool engine has no microcode$' \
	"$dir/console" | grep -x 1 >/dev/null
absent NEURON_RT_LOG_LEVEL=INFO NEURON_RT_LOG_LEVEL_NRT=QUIET 2> "$dir/quiet"
absent NEURON_RT_LOG_LOCATION="$dir/file" 2> "$dir/none"
if [ -s "$dir/quiet" ] || [ -s "$dir/none" ] || [ "$(wc -l < "$dir/file")" != 1 ]; then
	echo "the log is not where it belongs"
	exit 1
fi
