#!/usr/bin/env bash
# plov-bench durable, with few items. Called with the paths of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
tiny=(--quick --items 2000 --duration 2ms --plovd "$plovd")
mkdir "$work/dir"

"$tool" durable "${tiny[@]}" --rounds 2 --dir "$work/dir" --json > "$work/json"
[[ -z $(ls -A "$work/dir") ]] # what lay there is gone

# Without Redis, as text.
PATH='' "$tool" durable "${tiny[@]}" > "$work/text"
grep -Eq '^strict PUT: p50 +O_DSYNC write, 4 KiB .*x +<= 1.4x +(reached|missed by)' "$work/text"
grep -Eq '^strict PUT: p50 +Redis, always .* <= 1x +skipped: .*package' "$work/text"
grep -Eq '^acked +[0-9,]+ ' "$work/text"

status=0
"$tool" durable "${tiny[@]}" --dir "$work/none" 2> "$work/err" || status=$?
((status == 3)) && grep -q 'cannot make a folder' "$work/err"
[[ -z $(find "$work" -maxdepth 1 -name 'plov-bench-*') ]]

python3 - "$work/json" "$work/dir" << 'END_OF_CHECK'
import json, sys

study = json.load(open(sys.argv[1]))
GOALS = [
    "put_disk", "put_redis", "strict_255", "strict_1020", "strict_redis", "strict_hot", "async_255",
    "async_1020", "gets", "gets_p99", "put_snapshots", "snapshot_memory", "start_log_64", "start_snapshot_64",
    "start_log_1k", "start_snapshot_1k", "idle_cpu",
]
OURS = {
    "bare disk, one at a time": {"O_DSYNC write, 4 KiB", "O_DSYNC write, 64 KiB"},
    "PUT, one at a time": {"strict", "strict, snapshots written"},
    "PUTs, 255 in flight": {"no log", "async", "acked", "strict"},
    "PUTs, 1,020 in flight": {"no log", "async", "acked", "strict"},
    "PUTs of hot keys, 1,020 in flight": {"strict"},
    "GET, one at a time": {"nothing beside", "strict PUTs and snapshots beside"},
}
REDIS = {
    "PUT, one at a time": {"Redis, always"},
    "PUTs, 1,600 in flight of 50 clients": {"Redis, no log", "Redis, everysec", "Redis, always"},
}

has_redis = "skipped" not in study
assert [goal["name"] for goal in study["goals"]] == GOALS, study["goals"]
for goal in study["goals"]:
    if "skipped" in goal:
        assert goal["name"] in ("put_redis", "strict_redis") and not has_redis, goal
    else:
        measured = goal["measured"]
        assert 0 <= measured["least"] <= measured["median"] <= measured["most"], goal
        assert goal["reached"] in (True, False) and goal["target"] >= 0, goal

rows = {}
for load in study["loads"]:
    rows.setdefault(load["what"], {})[load["who"]] = load
for what in OURS | REDIS:
    wanted = OURS.get(what, set()) | (REDIS.get(what, set()) if has_redis else set())
    assert set(rows.get(what, {})) == wanted, (what, rows.get(what))
for load in study["loads"]:
    assert load["per_second"]["least"] > 0, load
    if not load["what"].startswith("PUTs, 1,600"):
        assert 0 < load["p50_us"]["median"] <= load["p99_us"]["median"], load
for what in ("PUTs, 255 in flight", "PUTs, 1,020 in flight"):
    for who in ("async", "acked", "strict"):
        assert rows[what][who]["rate_of_no_log"]["least"] > 0, rows[what][who]

assert [(one["from"], one["value_bytes"], one["items"]) for one in study["starts"]] == [
    ("replay", 64, 2000), ("snapshot", 64, 2000), ("replay", 1024, 2000), ("snapshot", 1024, 2000)]
assert all(one["seconds"]["least"] > 0 for one in study["starts"]), study["starts"]
assert study["rounds"] == 2 and study["snapshots"] >= 4, study
assert study["log_folder"].startswith(sys.argv[2]), study
END_OF_CHECK
