#!/usr/bin/env bash
# Runs a benchmark against a server of its own: bench/run.sh PLOVD BENCHMARK [ARGUMENT]...
set -euo pipefail

plovd=$1 benchmark=$2
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-bench-XXXXXX")
: > "$work/log"
"$plovd" --listen "shm:$work/s.sock" > "$work/log" &
server=$!
trap 'kill -TERM "$server" 2> /dev/null || true; wait "$server" || true; rm -rf "$work"' EXIT

for ((tries = 0; tries < 600; ++tries)); do
  if grep -q 'plovd: ready on' "$work/log"; then break; fi
  kill -0 "$server" 2> /dev/null || exit 1
  sleep 0.05
done
"$benchmark" "shm:$work/s.sock" "$@"
