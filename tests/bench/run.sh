#!/usr/bin/env bash
# plov-bench run over shared memory: every workload at tiny size, and what it says of it. Called with
# the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
server=""
on_exit() {
  if [[ -n $server ]]; then kill "$server" 2> /dev/null || true; fi
  rm -rf "$work"
}
trap on_exit EXIT
export TMPDIR=$work

fail() {
  echo "$*" >&2
  exit 1
}

# run FILE OPTION...: measures, and keeps the JSON; again where the machine gave some part of it no
# time at all, since a tenth of a second is all that it takes.
run() {
  local file=$1 tries
  shift
  for ((tries = 0; tries < 5; ++tries)); do
    "$tool" run --quick --plovd "$plovd" --json "$@" > "$work/$file" || fail "run $* failed"
    if ! grep -qE '"count": ?0,' "$work/$file"; then break; fi
  done
}

# holds FILE EXPRESSION...: each of v, the JSON in the file, of r, its first run, and of part(NAME),
# an operation's share.
holds() {
  python3 - "$work/$1" "${@:2}" << 'END' || fail "of $1"
import json, math, sys
v = json.load(open(sys.argv[1]))
r = v["runs"][0] if v["runs"] else {}
def part(name):
    return r["operations"].get(name, {"part": 0})["part"]
def near(name, wanted):  # by five standard deviations and one operation
    return abs(part(name) - wanted) <= 5 * math.sqrt(wanted * (1 - wanted) / r["count"]) + 1 / r["count"]
for text in sys.argv[2:]:
    if not eval(f"({text})"):
        sys.exit(f"it is not so: {text}, r: { {k: x for k, x in r.items() if not isinstance(x, (dict, list))} }")
END
}

# Shares as they should be, values that were all checked, and numbers that fit together.
for workload in ycsb-a ycsb-b ycsb-c ycsb-d ycsb-f herd-95 herd-50 counters twitter:11 twitter:14 \
  twitter:23 twitter:53; do
  run json --workload "$workload"
  holds json 'v["workload"] == "'"$workload"'" and v["own_server"] and v["items"] == 2000' \
    'all(near(name, wanted) for name, wanted in v["mix"].items())' \
    'abs(sum(part(name) for name in v["mix"]) - 1) < 1e-9' \
    'r["per_second"] > 0 and r["latency"]["p50_us"] <= r["latency"]["p99.99_us"]' \
    'r["latency"]["p99.99_us"] <= r["latency"]["most_us"]' \
    'all(sum(n for _, n in o["histogram_ns"]) == o["count"] for o in r["operations"].values())' \
    '(1 <= r["reads_per_get"] < 3 or r["client"]["gets"] == 0) and r["client"]["corrupt"] == 0' \
    'sum(r["over_time"]["per_second"]) * r["over_time"]["slice_seconds"] > r["count"] - 1' \
    'r["client_cpu_seconds_per_million"] > 0 and r["server_cpu_seconds_per_million"] >= 0' \
    'v["workload"].startswith("twitter") or r["misses"] == r["refused"] == 0' \
    'v["memory"]["items"] > 500 and v["memory"]["bytes_per_item"] > v["key_bytes"]'
done

# Sizes and shares of one's own; several clients, a window, rounds.
run json --workload herd-95 --items 500 --key-bytes 20 --value-bytes 0..300 --distribution zipfian \
  --exponent 1.2 --reads 62.5 --clients 3 --window 16 --rounds 2 --shards 2 --bucket-bytes 128 \
  --location-cache 0 --memory 100M
holds json 'near("get", 0.625) and near("put", 0.375) and v["items"] == 500 and v["exponent"] == 1.2'
holds json 'r["client"]["known_reads"] == 0 and r["misses"] == 0 and v["clients"] == 3'
holds json 'r["per_second_least"] <= r["per_second"] <= r["per_second_most"]'

run json --workload counters --reads 0 --window 32 --clients 2 --items 100
holds json 'near("increment", 1) and r["client"]["puts"] >= r["count"] and v["items"] == 100'

# Far more than can be done: starts are missed, and latencies reach back to them. All of the
# time is a second.
run json --workload ycsb-c --rate 1e7 --clients 2 --duration 1s
holds json 'r["rate"] == 1e7 and r["never_started"] > 1e6 and r["late_starts"] > 0'
holds json 'r["missed_starts"] == r["late_starts"] + r["never_started"]'
holds json 'abs(r["count"] + r["never_started"] - 1e7) <= 2 and r["latency"]["most_us"] > 50000'

# Latency against load.
run json --workload herd-50 --sweep --duration 50ms
holds json 'len(v["runs"]) == 10 and r["rate"] is None'
holds json 'all(one["rate"] <= other["rate"] for one, other in zip(v["runs"][1:], v["runs"][2:]))'

# Requests from a file: once, by two clients, each key's in their order.
cat > "$work/requests" << 'END'
put a 10
get a
delete a
get a
1,k1,2,300,5,set,60
2,k1,2,300,5,gets,0
3,k1,2,8,5,incr,0
END
run json --replay "$work/requests" --clients 2
holds json 'r["count"] == 7 and r["hits"] == 3 and r["misses"] == 1 and v["requests"] == 7'
holds json '{n: o["count"] for n, o in r["operations"].items()} ==
            {"get": 3, "put": 2, "delete": 1, "cas": 1}'
run json --replay "$work/requests" --duration 1s
holds json 'r["count"] > 7'

# A server that runs: stored once, measured on, and its items stay.
"$plovd" --listen "shm:$work/s.sock" --memory 64M > "$work/ready" &
server=$!
for ((tries = 0; tries < 600; ++tries)); do
  if grep -q ready "$work/ready"; then break; fi
  kill -0 "$server" || fail "the server did not start"
  sleep 0.1
done
unowned=(run --quick --server "shm:$work/s.sock" --json --workload ycsb-c)
"$tool" "${unowned[@]}" --load > "$work/json"
holds json 'v["runs"] == [] and v["memory"]["items"] == 2000 and v["load_seconds"] > 0'
"$tool" "${unowned[@]}" --no-load > "$work/json"
holds json 'r["misses"] == 0 and "load_seconds" not in v and not v["own_server"]'
holds json 'r["server_cpu_seconds_per_million"] is not None'
# A value that nobody wrote.
"$tool" run --quick --server "shm:$work/s.sock" --workload ycsb-c --value-bytes 500 --load > "$work/out"
status=0
"$tool" "${unowned[@]}" --no-load > "$work/out" 2> "$work/err" || status=$?
((status == 3)) || fail "a wrong value ended with $status"
grep -q 'not what was stored' "$work/err" || fail "a wrong value is told as: $(< "$work/err")"
kill "$server"
wait "$server" || true
server=""

# Full is an error that says what to do.
status=0
"$tool" run --quick --plovd "$plovd" --items 100K --memory 16M > "$work/out" 2> "$work/err" || status=$?
((status == 3)) || fail "a full server ended with $status"
grep -q 'more --memory' "$work/err" || fail "a full server is told as: $(< "$work/err")"

"$tool" run --quick --plovd "$plovd" --rate 1000 | tee "$work/text"
grep -q '^READs per GET ' "$work/text"
grep -q '^missed starts ' "$work/text"
grep -q '^server CPU ' "$work/text"
left=$(find "$work" -maxdepth 1 -name 'plov-bench-*')
[[ -z $left ]] || fail "left behind: $left"
