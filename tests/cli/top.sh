#!/usr/bin/env bash
# plov top and plov stats --watch: in a pipe, on a terminal, and of servers that stop, die and return.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$(dirname "${BASH_SOURCE[0]}")

expect 3 top && says 'no server'
start_server --shards 2
for ((i = 0; i < 2000; ++i)); do printf 'key%d\tvalue\n' $i; done > "$work/lines"
expect 0 load "$work/lines"
mapfile -t keys < <(cut -f 1 "$work/lines")
expect 0 mget "${keys[@]}" && expect 0 mget "${keys[@]}"

expect 0 top --count 1
shows '^shm:.*, plovd [0-9.]*, process '"$server"', up '
shows '^server CPU per million GETs: '
shows '^PUTs  *[0-9,]*/s, p50 under [0-9.]* [mu]s, p99 under' && shows '2,000 items$'
shows '^     0 ' && shows '^     1 '
expect 0 top --count 3 --interval 20ms
[[ $(grep -c '^server CPU' "$work/out") == 3 ]] || fail "three blocks"
grep -q $'\x1b' "$work/out" && fail "a pipe is no terminal"
expect 2 top --count 0 && expect 2 top --interval 1us && expect 2 top word
expect 2 get key1 --interval 1s && expect 2 stats --json --prometheus

expect 0 top --json --count 2 --interval 20ms && is_json --json-lines && has_lines 2
shows '^{"server":"'"$uri"'","state":"serves",.*"items":2000,.*"shards":\[{"shard":0,'

# stats --watch, wherever it stands.
watched() {
  : > "$work/watched" # of the one before
  "$plov" "$@" > "$work/watched" &
  local watcher=$!
  wait_for twice "$work/watched"
  kill "$watcher"
  wait "$watcher" 2> /dev/null || true
}
twice() { (($(grep -c '^items  *2,000$\|^{.*"items":2000' "$1") >= 2)); }
watched --watch=20ms stats
watched stats --watch=20ms --json
watched --watch stats
expect 2 stats --watch= && expect 2 stats --watch=x && expect 2 --watch get key1

# A server that does not move, is stopped, ends and returns, while top goes on.
"$plov" top --interval 100ms > "$work/top" 2> "$work/err" &
top=$!
tail_shows() { tail -n 20 "$work/top" | grep -q -e "$1"; }
wait_for tail_shows '^does not move for [0-9]* s: idle, or stopped$'
pause_server
wait_for tail_shows '^does not move for [0-9]* s: its process is stopped'
kill -CONT "$server"
wait_for "$plov" put a b
end_server KILL
wait_for tail_shows '^GONE for [0-9]* s: no server on'
tail_shows '^server CPU per million' || fail "what is known is shown on"
start_server
wait_for tail_shows '^restarted [0-9]* s ago$'
tail_shows '^GONE' && fail "it has returned"
kill -0 "$top" || fail "top has ended"
kill -TERM "$top"
wait "$top" 2> /dev/null || true
[[ ! -s $work/err ]] || fail "top complains"

# It costs the server nothing: no shard wakes for it.
sleeps() { "$plov" stats --json > "$work/out" && python3 -ISc '
import json, sys
print(json.load(open(sys.argv[1]))["total"]["sleeps"])' "$work/out"; }
expect 0 top --interval 10ms --count 1
one=$(sleeps)
expect 0 top --interval 10ms --count 1
more=$(($(sleeps) - one)) # what connecting takes, and stats
one=$(sleeps)
expect 0 top --interval 10ms --count 100
((($(sleeps) - one) < more + 20)) || fail "100 looks have woken it"

# A reader that goes.
status=0
{ timeout 100 "$plov" top --interval 10ms 2> "$work/err" || echo $? > "$work/status"; } | head -n 1 > "$work/out"
[[ $(cat "$work/status") == 3 ]] || fail "closed pipe"
says 'Broken pipe'

python3 "$here/terminal.py" "$plov" || fail "on a terminal"
end_server TERM
