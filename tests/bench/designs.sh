#!/usr/bin/env bash
# plov-bench designs over shared memory. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

"$tool" designs --quick --plovd "$plovd" --value-bytes 16,64 --window 4 | tee "$work/text"
for name in 'Pilaf' 'FaRM-KV, inline' 'FaRM-KV, pointers' 'HERD' 'plov, cold' 'plov, known' \
  'plov 64, cold' 'plov 64, known'; do
  # Two sizes, by load, and by clients; by servers below.
  (($(grep -c "^$name  *[0-9]" "$work/text") == 4)) || exit 1
done
grep -q '^clients  *1  *CPU us  *2  *CPU us$' "$work/text"
grep -q '^HERD: GETs  *[0-9,]*  *[0-9.]*  *[0-9,]*  *[0-9.]*$' "$work/text" # one server, and two
grep -q '^plov: PUTs  *[0-9,]*  *[0-9.]*  *[0-9,]*  *[0-9.]*$' "$work/text"
grep -q '^plov, known: GETs  *[0-9,]*  *[0-9.]* *$' "$work/text" # no more than one

"$tool" designs --quick --plovd "$plovd" --json > "$work/json"
python3 - "$work/json" << 'END_OF_CHECK'
import json, sys
study = json.load(open(sys.argv[1]))
rows = {r["design"]: r for r in study["results"] if r["window"] == 32}
assert len(rows) == 8 and all(r["per_second"]["median"] > 0 for r in study["results"])
reads = {name: r["reads_per_get"] for name, r in rows.items()}
assert 2.4 < reads["Pilaf"] < 2.8, reads
assert 1 <= reads["FaRM-KV, inline"] < 1.1 and 2 <= reads["FaRM-KV, pointers"] < 2.1, reads
assert abs(reads["HERD"] - 2) < 0.001, reads
# A table that has not grown has buckets of 64 bytes.
assert 1 <= reads["plov, cold"] < 2.5 and reads["plov, known"] < 1.1, reads
assert 2 <= reads["plov 64, cold"] < 2.5 and reads["plov 64, known"] < 1.1, reads
# A neighbourhood is eight items of 96 bytes and two heads; a key and a reply are small.
assert rows["FaRM-KV, inline"]["bytes_per_get"] >= 800, rows
assert abs(rows["HERD"]["bytes_per_get"] - (16 + 65)) < 1, rows
assert rows["HERD"]["server_cpu_us_per_get"] > 0
singles = [r for r in study["results"] if r["window"] == 1]
assert all(r["p99_us"]["median"] >= r["median_us"]["median"] > 0 for r in singles)
# All designs by one and by two clients; HERD's server has work.
clients = {(r["design"], r["clients"], r["servers"], r["operation"]): r for r in study["clients"]}
wanted = {(name, count, 1, "get") for name in rows for count in (1, 2)}
wanted |= {("HERD", 2, 2, "get"), ("plov, cold", 2, 1, "put"), ("plov, cold", 2, 2, "put")}
assert set(clients) == wanted and len(study["clients"]) == len(wanted), clients
assert all(r["per_second"]["median"] > 0 and r["window"] == 32 for r in clients.values())
for (name, _, _, operation), row in clients.items():
    if name == "HERD" or operation == "put":
        assert row["server_cpu_us"] > 0 and row["server_cores"] > 0, row
END_OF_CHECK

# Lists are sorted, each number once.
"$tool" designs --quick --plovd "$plovd" --clients 5,1,5 --servers 2 --json > "$work/json"
python3 - "$work/json" << 'END_OF_CHECK'
import json, sys
study = json.load(open(sys.argv[1]))
assert [r["clients"] for r in study["clients"]] == [1] * 8 + [5] * 10, study
assert [r["servers"] for r in study["clients"]] == [1] * 16 + [2] * 2, study
END_OF_CHECK

# Clients end with the tool.
"$tool" designs --quick --plovd "$plovd" --clients 3 --duration 60s > "$work/text" &
tool_pid=$!
for ((tries = 0; tries < 600; ++tries)); do
  mapfile -t children < <(pgrep -P "$tool_pid")
  ((${#children[@]} >= 13)) && break
  sleep 0.1
done
((${#children[@]} == 13)) # six servers, three of two servers, three clients, the one that cleans up
kill -9 "$tool_pid"
wait "$tool_pid" || true
for ((tries = 0; tries < 600; ++tries)); do
  alive=0
  for child in "${children[@]}"; do
    if kill -0 "$child" 2> /dev/null; then alive=1; fi
  done
  ((alive == 0)) && break
  sleep 0.1
done
((alive == 0))
for ((tries = 0; tries < 600; ++tries)); do
  left=$(find "$work" -maxdepth 1 -name 'plov-bench-*')
  [[ -z $left ]] && break
  sleep 0.1
done
left=$(find "$work" -maxdepth 1 -name 'plov-bench-*')
if [[ -n $left ]]; then
  echo "left behind: $left" >&2
  exit 1
fi
