#!/usr/bin/env bash
# plov-bench designs over shared memory. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

"$tool" designs --quick --plovd "$plovd" --value-bytes 16,64 --window 4 --html "$work/page" |
  tee "$work/text"
for name in 'Pilaf' 'FaRM-KV, inline' 'FaRM-KV, pointers' 'HERD' 'plov, cold' 'plov, known'; do
  (($(grep -c "^$name  *[0-9]" "$work/text") == 3)) || exit 1 # two sizes, and by load
done
grep -q '^<!DOCTYPE html>' "$work/page"
grep -q '</html>' "$work/page"

"$tool" designs --quick --plovd "$plovd" --json > "$work/json"
python3 - "$work/json" << 'END_OF_CHECK'
import json, sys
study = json.load(open(sys.argv[1]))
rows = {r["design"]: r for r in study["results"] if r["window"] == 32}
assert len(rows) == 6 and all(r["per_second"]["median"] > 0 for r in study["results"])
reads = {name: r["reads_per_get"] for name, r in rows.items()}
assert 2.4 < reads["Pilaf"] < 2.8, reads
assert 1 <= reads["FaRM-KV, inline"] < 1.1 and 2 <= reads["FaRM-KV, pointers"] < 2.1, reads
assert abs(reads["HERD"] - 2) < 0.001, reads
assert 2 <= reads["plov, cold"] < 2.5 and reads["plov, known"] < 1.1, reads
# A neighbourhood is eight items of 96 bytes and two heads; a key and a reply are small.
assert rows["FaRM-KV, inline"]["bytes_per_get"] >= 800, rows
assert abs(rows["HERD"]["bytes_per_get"] - (16 + 65)) < 1, rows
assert rows["HERD"]["server_cpu_us_per_get"] > 0
singles = [r for r in study["results"] if r["window"] == 1]
assert all(r["p99_us"]["median"] >= r["median_us"]["median"] > 0 for r in singles)
END_OF_CHECK
left=$(find "$work" -maxdepth 1 -name 'plov-bench-*')
if [[ -n $left ]]; then
  echo "left behind: $left" >&2
  exit 1
fi
