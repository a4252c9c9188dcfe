#!/usr/bin/env bash
# plov-bench compare, with few items. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
tiny=(--quick --items 2000 --rounds 2 --duration 2ms --plovd "$plovd")

fail() {
  echo "$*" >&2
  exit 1
}

# The tool's folder is in the command lines of all servers that it starts.
servers() { grep -alF "$work/plov-bench-" /proc/[0-9]*/cmdline 2> /dev/null || true; }
nothing_is_left() {
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    [[ -n $(servers) || -n $(find "$work" -maxdepth 1 -name 'plov-bench-*') ]] || return 0
    sleep 0.1
  done
  fail "left behind: $(servers) $(find "$work" -maxdepth 1 -name 'plov-bench-*')"
}

"$tool" compare "${tiny[@]}" --json > "$work/json"
nothing_is_left

# With no program in PATH; those that are in the process itself are there.
PATH='' "$tool" compare "${tiny[@]}" --json > "$work/bare.json"
nothing_is_left

"$tool" compare "${tiny[@]}" --peers memory > "$work/text"
grep -Eq '^GET +the memory itself .*x +>= 0.85x +(reached|missed by)' "$work/text"
grep -q 'skipped: not among --peers' "$work/text"

# Most machines have no huge pages to spare, and then it says so.
status=0
"$tool" compare "${tiny[@]}" --peers memory --hugepages > "$work/text" 2> "$work/err" || status=$?
case $status in
  0) grep -q 'over shared memory in huge pages$' "$work/text" ;;
  3) grep -Eq 'no [0-9]+ huge pages of 2 MiB' "$work/err" ;;
  *) fail "with --hugepages it ended with $status" ;;
esac
nothing_is_left

python3 - "$work/json" "$work/bare.json" << 'END'
import json, sys

whole, bare = (json.load(open(path)) for path in sys.argv[1:])
GOALS = [
    "get_memory", "get_known_memory", "get_known_lmdb", "get_known_libcuckoo", "get_known_redis",
    "get_known_memcached", "get_many_memory", "get_many_redis", "put_redis", "put_many_redis",
    "memory_redis", "memory_memcached",
    "server_cpu", "server_stopped", "idle_cpu", "reads_record", "reads_record_known",
    "reads_inline", "reads_inline_known", "reads_miss", "table_fill", "rdma",
]
PEERS = {"memory", "lmdb", "libcuckoo", "redis", "redis-benchmark", "memcached"}

for study in (whole, bare):
    assert [goal["name"] for goal in study["goals"]] == GOALS, study["goals"]
    for goal in study["goals"]:
        if "skipped" in goal:
            assert goal["skipped"] and "measured" not in goal, goal
        else:
            measured = goal["measured"]
            assert measured["least"] <= measured["median"] <= measured["most"], goal
            assert goal["reached"] in (True, False), goal
    skipped = {one["peer"]: one["reason"] for one in study["skipped"]}
    measured = {rate["who"] for rate in study["rates"]} - {
        "cold", "known", "cold, records", "known, records"}
    assert measured | set(skipped) == PEERS and not measured & set(skipped), study
    assert all(rate["per_second"]["median"] > 0 for rate in study["rates"])
    assert "memory" in measured

goals = {goal["name"]: goal for goal in whole["goals"]}
for name in ("server_cpu", "server_stopped", "reads_miss", "table_fill"):
    assert goals[name]["reached"], goals[name]
assert 1 < goals["reads_inline"]["measured"]["median"] < 2 < goals["reads_record"]["measured"]["median"]
for name in ("redis", "redis-benchmark", "memcached"):
    reason = {one["peer"]: one["reason"] for one in bare["skipped"]}[name]
    assert "package" in reason, reason
END

# Killed while servers run: they end, too, and the folders go.
"$tool" compare --items 200000 --rounds 1000 --plovd "$plovd" --peers memcached,redis \
  > /dev/null 2>&1 &
killed=$!
until [[ -n $(servers) ]]; do
  kill -0 "$killed" || fail "it ended before it was killed"
  sleep 0.05
done
sleep 1
kill -KILL "$killed"
wait "$killed" 2> /dev/null || true
nothing_is_left
