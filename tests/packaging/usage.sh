#!/usr/bin/env bash
# packaging/build.sh refuses what it cannot do before it begins; the packages have the version of plov, and are
# built with all that building takes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
failures=0

# refuses PATTERN ARGUMENT...
refuses() {
  local pattern=$1 status=0 said
  shift
  said=$(bash "$root/packaging/build.sh" "$@" 2>&1) || status=$?
  if ((status != 2)) || ! grep -q -e "$pattern" <<< "$said"; then
    echo "FAILED: build.sh $* ended with $status: $said"
    failures=1
  fi
}

bash "$root/packaging/build.sh" --help | grep -q '^usage: '
refuses 'no option --thrice' --thrice
refuses 'takes a version' --version
refuses 'takes a version' --version 1.0
refuses 'takes a version' --version '0.1-1 x'
refuses 'one FOLDER' a b
refuses 'one FOLDER' ''

version=$(sed -nE 's/^project\(plov VERSION ([0-9.]+) .*/\1/p' "$root/CMakeLists.txt")
if ! head -n 1 "$root/debian/changelog" | grep -qF "plov ($version-"; then
  echo "FAILED: debian/changelog begins with another version than $version"
  failures=1
fi

# What of it is missing is left out of the programs, without an error.
needed=$(sed -n '/^readonly run_packages=/,/^)/s/^  //p' "$root/tests/install.sh")
build_depends=$(sed -n '/^Build-Depends:/,/^[A-Z]/p' "$root/debian/control")
peers="liblmdb-dev libcuckoo-dev libhiredis-dev libmemcached-dev libssl-dev"
for package in ${needed:?} $peers python3-dev pybind11-dev libjs-chart.js; do
  if [[ $package != g++ ]] && ! grep -qE "^ $package( \(.*\))?,$" <<< "$build_depends"; then
    echo "FAILED: debian/control does not build with $package"
    failures=1
  fi
done
exit "$failures"
