#!/usr/bin/env bash
# Counts the instructions of a GET of GetMany over shared memory, callback and all, with callgrind
# (package valgrind): bench/instructions.sh BUILD
#
# A run of 7 sweeps less one of 2 (bench/getmany.cc), so that neither start nor the first sweep counts.
set -euo pipefail

build=$1
command -v valgrind > /dev/null || { echo "instructions.sh: no valgrind: apt-get install valgrind" >&2; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-bench-XXXXXX")
servers=()
trap 'kill -TERM "${servers[@]}" 2> /dev/null || true; wait; rm -rf "$work"' EXIT

# instructions URI VALUE_BYTES CACHE_BYTES SWEEPS
instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/bench/getmany" "$@" 2>&1 |
    sed -n 's/.*Collected : //p'
}

echo "value bucket cold known"
for shape in "64 64" "200 64" "8 64" "64 128"; do
  read -r value bucket <<< "$shape"
  uri=shm:$work/$value-$bucket.sock
  "$build/server/plovd" --listen "$uri" --bucket-bytes "$bucket" > "$work/log" 2>&1 &
  servers+=($!)
  "$build/client/plov" --server "$uri" --wait 30s ping > /dev/null
  "$build/bench/getmany" "$uri" "$value" 0 1
  row="$value $bucket"
  for cache in 0 16777216; do
    short=$(instructions "$uri" "$value" "$cache" 2)
    long=$(instructions "$uri" "$value" "$cache" 7)
    row+=" $(((long - short) / (5 * 20000)))"
  done
  echo "$row"
done
