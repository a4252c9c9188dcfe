#!/usr/bin/env bash
# plov-bench busy. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

"$tool" busy --quick --plovd "$plovd" > "$work/text"
grep -Eq '^2 busy loops a processor +[0-9,]+ +[0-9,]+ +[0-9,]+ +' "$work/text"
grep -Eq '^PUT, one at a time: many shards to one, medians +[0-9.]+ +0.5 +(yes|no)$' "$work/text"

"$tool" busy --quick --rounds 3 --json --plovd "$plovd" > "$work/json"
PATH='' "$tool" busy --quick --rounds 1 --json --plovd "$plovd" > "$work/bare.json"
python3 - "$work/json" "$work/bare.json" << 'END_OF_CHECK'
import json, sys
study, bare = (json.load(open(path)) for path in sys.argv[1:])
conditions = ["quiet", "shards = 2 x processors", "clients = 4 x processors", "2 busy loops a processor"]
for one in (study, bare):
    assert [row["condition"] for row in one["rows"][::2]] == conditions, one
    assert all(row["plov"]["least"] > 0 for row in one["rows"]), one
assert study["rounds"] == 3 and study["processors"] > 0, study
assert "skipped" in study or len(study["goals"]) == 16, study
assert "skipped" in bare and not any("redis" in row for row in bare["rows"]), bare
assert len(bare["goals"]) == 4, bare
END_OF_CHECK
[[ -z $(find "$work" -maxdepth 1 -name 'plov-bench-*') ]]
