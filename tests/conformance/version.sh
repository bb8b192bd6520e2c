#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One version: programs print that of VERSION, and scripts/version says which commit it is of. As TAP.
# usage: version.sh SOURCE_ROOT PROGRAM...
set -euo pipefail
root=$1
shift
count=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# is GOT PATTERN WHAT
is() {
    count=$((count + 1))
    if [[ $1 =~ $2 ]]; then echo "ok $count - $3"; else echo "not ok $count - $3: $1"; fi
}
git() { command git -C "$work/tree" -c user.name=t -c user.email=t@localhost -c init.defaultBranch=main "$@"; }
said() { "$work/tree/scripts/version"; }

echo "1..$(($# + 9))"
release=$(<"$root/VERSION")
quoted=${release//./\\.}
for program; do
    is "$("$program" --version)" "(^| )$quoted(-[0-9]+)?(-g[0-9a-f]{7,})?(-dirty)?\)?$" "${program##*/} --version"
done

is "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$root/debian/changelog")" "^$quoted$" "the packages'"
mkdir -p "$work/tree/scripts"
cp "$root/scripts/version" "$work/tree/scripts/"
echo 3.1.4 >"$work/tree/VERSION"
is "$(said)" '^3\.1\.4$' "outside a checkout"
git init -q
git add .
git commit -qm one
is "$(said)" '^3\.1\.4-g[0-9a-f]{7,}$' "in a checkout without tags"
git tag -a -m release v3.1.4
is "$(said)" '^3\.1\.4$' "at the release"
git commit -qm two --allow-empty
is "$(said)" '^3\.1\.4-1-g[0-9a-f]{7,}$' "a commit later"
echo >>"$work/tree/scripts/version"
is "$(said)" '^3\.1\.4-1-g[0-9a-f]{7,}-dirty$' "with changes"
rm -r "$work/tree/.git"
mkdir "$work/around"
mv "$work/tree" "$work/around/"
command git init -q "$work/around"
is "$("$work/around/tree/scripts/version")" '^3\.1\.4$' "inside another repository"

printf 'a "@VERSION@" b\n@BUILD@\n\n' >"$work/in"
"$work/around/tree/scripts/version" "$work/in" "$work/out"
is "$(cmp <(printf 'a "3.1.4" b\n3.1.4\n\n') "$work/out" 2>&1)" '^$' "in a file"
touch -d 2020-01-01 "$work/out"
"$work/around/tree/scripts/version" "$work/in" "$work/out"
is "$(date -r "$work/out" +%Y)" '^2020$' "a file that stays as it is is not written"
