#!/usr/bin/env bash
# plov-bench evict, with little memory. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
tiny=(--quick --duration 20ms --plovd "$plovd")

"$tool" evict "${tiny[@]}" --workload scan,twitter:4 --json > "$work/json"
PATH='' "$tool" evict "${tiny[@]}" --workload twitter:7 --rounds 2 > "$work/text"
grep -Eq '^twitter:7 +[0-9,]+ +1,953 +[0-9.]+ +[0-9.]+ +[0-9,]+' "$work/text"
grep -q '^memcached is skipped: .*package' "$work/text"

python3 - "$work/json" << 'END_OF_CHECK'
import json, sys
study = json.load(open(sys.argv[1]))
has_memcached = "skipped" not in study
assert [row["workload"] for row in study["rows"]] == ["scan", "twitter:4"], study
for row in study["rows"]:
    for side in ("plov", "lru") + (("memcached",) if has_memcached else ()):
        # So short a time may be one scan.
        assert row["workload"] == "scan" or row[side]["hit_ratio"]["least"] > 0, row
        assert 0 <= row[side]["hit_ratio"]["median"] < 1, row
        assert 0 < row[side]["items"]["median"] < row["items"], row
    assert row["lru"]["items"] == row["plov"]["items"], row
    assert ("at_least_as_good" in row) == has_memcached, row
assert study["memory_bytes"] == 16 << 20, study
END_OF_CHECK
[[ -z $(find "$work" -maxdepth 1 -name 'plov-bench-*') ]]
