#!/usr/bin/env bash
# plov-bench table. Called with the path of plov-bench.
set -euo pipefail

tool=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT

"$tool" table --quick --bucket-bytes 64 | tee "$work/text"
grep -q '^ *75  *85.3  *1\.[0-9]' "$work/text"
grep -q '^% full before a PUT needs growth  *90  *[0-9.]* .* yes$' "$work/text"
if grep -q 'buckets of 128' "$work/text"; then exit 1; fi

"$tool" table --quick --seeds 1 --json > "$work/json"
python3 - "$work/json" << 'END_OF_CHECK'
import json, sys
study = json.load(open(sys.argv[1]))
assert study["items"] == 20000 and study["seeds"] == 1, study
rows = study["rows"]
assert [r["fill_percent"] for r in rows] == [50, 60, 70, 75, 80, 85, 90, 95] * 2
assert [r["bucket_bytes"] for r in rows] == [64] * 8 + [128] * 8
assert all(1 < r["reads_per_hit"]["median"] < 2 for r in rows if r["reached"]), rows
assert not rows[7]["reached"] and rows[3]["reached"]
END_OF_CHECK
if "$tool" table --quick --html "$work/none/page" > /dev/null 2> "$work/err"; then exit 1; fi
grep -Eq 'cannot write|libjs-chart.js' "$work/err"
