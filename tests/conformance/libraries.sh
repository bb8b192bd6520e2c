#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The libraries as a stranger has them: installed, found with pkg-config, one small program for each
# built and run. As TAP. usage: libraries.sh SOURCE_ROOT BUILD
set -euo pipefail
root=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
count=0
export NEURON_EMU=inf1.xlarge

# is GOT WANTED WHAT
is() {
    count=$((count + 1))
    if [ "$1" = "$2" ]; then
        echo "ok $count - $3"
    else
        echo "not ok $count - $3"
        printf '%s\n' "$1" | sed 's/^/# /'
    fi
}

echo 1..35
DESTDIR=$stage meson install -C "$build" --no-rebuild --quiet --tags library,devel
export PKG_CONFIG_PATH=$stage/usr/share/pkgconfig
prefix=$(pkg-config --variable=prefix nrt)
lib=$stage$prefix/lib
# programs of a sanitized library have to be sanitized
flags=()
if nm -D --undefined-only "$lib/libnrt.so" | grep __asan_init >/dev/null; then
    flags=(-fsanitize=address -fsanitize=undefined)
fi

version=$(<"$root/VERSION")
# ask LIBRARY OPTION: pkg-config of what is installed under $stage
ask() { pkg-config --define-variable=prefix="$stage$prefix" "$2" "$1"; }
declare -A header_of=([ncc]=ncc [neff]=neff [ndl]=ndlx) # which is also what its names begin with
for name in ncc neff ndl nrt; do
    is "$(ask $name --modversion)" "$version" "$name.pc has the version"
    # shellcheck disable=SC2046
    is "$(cc -Wall -Wextra -Werror "${flags[@]}" -o "$work/$name" "$root/tests/conformance/libraries/$name.c" \
        $(ask $name --cflags) $(ask $name --libs) 2>&1)" "" "a program with lib$name builds"
    header=$stage$prefix/include/neuron/${header_of[$name]:-}.h
    if [ "$name" = nrt ]; then header=$stage$prefix/include/nrt/nrt.h; fi
    # shellcheck disable=SC2046
    is "$(c++ -x c++ -fsyntax-only -Wall -Werror $(ask $name --cflags) "$header" 2>&1)" "" "${header##*/} in C++"
done

# exported LIBRARY and declared HEADER: names of functions
exported() { nm -D --defined-only "$lib/lib$1.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort; }
declared() { cat "$stage$prefix/include/neuron/$1"{.h,_*.h} 2>/dev/null | grep -v "^static inline" | grep -oE "\b$1_[a-z0-9_]+\(" | tr -d '(' | sort -u; }
# every public header by itself, in both languages, and with what it says it needs
for header in "$stage$prefix"/include/nrt/*.h "$stage$prefix"/include/nrt/nds/*.h "$stage$prefix"/include/ndl/*.h; do
    # shellcheck disable=SC2046
    is "$(cc -x c -fsyntax-only -Wall -Wextra -Werror $(ask nrt --cflags) "$header" 2>&1
        c++ -x c++ -fsyntax-only -Wall -Wextra -Werror $(ask nrt --cflags) "$header" 2>&1)" "" "${header#"$stage$prefix/include/"} in C and C++"
done
# the asynchronous API's level: which symbol a program is bound to, in both languages
# bound COMPILER LANGUAGE [OPTION]
bound() {
    printf '#include <nrt/nrt_async.h>\nint main(void)\n{\n\treturn nrta_is_completed(0, NULL) == nrta_cc_schedule(NULL, 0, NULL, NULL);\n}\n' > "$work/level"
    # shellcheck disable=SC2046
    "$1" -x "$2" -Wall -Wextra -Werror "${flags[@]}" "${@:3}" -o "$work/bound" "$work/level" -x none $(ask nrt --cflags) $(ask nrt --libs) 2>&1
    nm -D --undefined-only "$work/bound" | sed -nE 's/.* nrta_(.*)/\1/p'
}
is "$(bound cc c)$(bound c++ c++)" $'cc_schedule@NRT_3.0.0\nis_completed@NRT_3.0.0cc_schedule@NRT_3.0.0\nis_completed@NRT_3.0.0' "level 3.0"
is "$(bound cc c -DNRTX_ASYNC_2_0)$(bound c++ c++ -DNRTX_ASYNC_2_0)" \
    $'cc_schedule@NRT_2.0.0\nis_completed@NRT_2.0.0cc_schedule@NRT_2.0.0\nis_completed@NRT_2.0.0' "level 2.0, of a program that says so"
is "$(find "$stage$prefix/include/nrt" "$stage$prefix/include/ndl" -name '*.h' -printf '%P\n' | sort | tr '\n' ' ')" \
    "$(cut -f 1 "$root/tests/data/nrt/functions.txt" | grep '\.h$' | cat - <(echo ndl/neuron_driver_shared.h; \
        echo ndl/neuron_driver_shared_tensor_batch_op.h) | sed 's,^n[a-z]*/,,' | sort -u | tr '\n' ' ')" "all public headers are installed"
is "$(grep -v "^#" "$stage/etc/ld.so.conf.d/neuron.conf")" "$prefix/lib" "the linker finds the libraries"

for name in ncc neff ndl; do
    is "$(diff <(exported $name) <(declared "${header_of[$name]}"))" "" "lib$name.so has what ${header_of[$name]}.h declares"
done

is "$("$work/ncc" "$root/tests/data/hlo/add/module.hlo.pb" "$work/add.neff" 2>&1 && "$work/neff" "$work/add.neff" 2>&1)" \
    $'input float32 140\ninput float32 140\noutput float32 140' "a module compiled, and its NEFF read"
is "$("$work/ndl" 2>&1 && "$work/nrt" "$work/add.neff" 2>&1)" $'to the chip and back\n3 tensors' "on a chip in process"
