#!/usr/bin/env bash
# plov-bench scale, from end to end. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

"$tool" scale --quick --memory 1G --plovd "$plovd" --json \
  --markdown "$work/scale.md" > "$work/json"
python3 - "$work/json" << 'END'
import json, sys
study = json.load(open(sys.argv[1]))
points = study["points"]
assert len(points) == 6, points  # the first of every axis is the same, but of one
assert {p["items"] for p in points} == {1000, 10000}
assert {p["value_bytes"] for p in points} == {8, 64, 4096}
assert {p["clients"] for p in points} == {p["shards"] for p in points} == {1, 2}
for point in points:
    cold, many, known, known_many, put, puts = point["paces"]
    assert all(pace["per_second"] > 0 and pace["p99_us"] >= pace["p50_us"] > 0
               for pace in point["paces"]), point
    assert 1 <= cold["reads_per_get"] < 3 and 1 <= known["reads_per_get"] <= cold["reads_per_get"]
    assert put["server_cpu_us"] > 0 and "reads_per_get" not in put, point
    assert point["memory_per_item"] > point["value_bytes"], point
assert study["run"]["command"].startswith("plov-bench scale --quick"), study["run"]
END
grep -q '^|---:|' "$work/scale.md"

# What does not fit is named.
"$tool" scale --axis shards --quick --memory 128M --plovd "$plovd" > "$work/text"
grep -q '^By shards: operations a second' "$work/text"
grep -q '^skipped: 1,000 items, .* shards 2: needs about .*, --memory is 128.0 MiB$' "$work/text"

left=$(find "$work" -maxdepth 1 -name 'plov-bench-*')
if [[ -n $left ]]; then
  echo "left behind: $left" >&2
  exit 1
fi
