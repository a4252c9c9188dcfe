#!/usr/bin/env bash
# drain, as its operator sees it, with a client in the middle of its writes.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# drain ARGUMENT...: in the background, its output in $work/drain, its exit status in $work/drained.
drain() {
  : > "$work/drain"
  rm -f "$work/drained"
  (
    status=0
    "$plov" drain "$@" > "$work/drain" 2> "$work/drain.err" || status=$?
    echo "$status" > "$work/drained"
  ) 3>&- 4>&- &
}
# drain_says PATTERN: waits for it. drain_ends STATUS: likewise.
drain_says() { wait_for grep -q -e "$1" "$work/drain"; }
drain_ends() {
  wait_for test -s "$work/drained"
  [[ $(cat "$work/drained") == "$1" ]] || fail "drain ended with $(cat "$work/drained"): $(cat "$work/drain.err")"
}

expect 3 drain && says 'no server on'
expect 2 drain now && expect 2 drain --timeout 0s && expect 2 ping --cancel

# Nobody is there. The name and the log are free for the next server.
start_server --log "$work/log" --commit async --memory 256M
head -c 16000000 /dev/zero > "$work/value"
for key in a b c d e f; do expect 0 put $key - < "$work/value"; done
expect 0 put kept value
expect 0 drain && out 'drained: all clients have gone, the server has ended\n'
former=$server
start_server --log "$work/log" --memory 256M
wait "$former" || fail "the server ended with $?"
for key in a b c d e f; do expect 0 delete $key; done
expect 0 snapshot && expect 0 drain
wait "$server" || fail "the server ended with $?"
server=""

# A client that loads: it ends well, others are told why they are not let in.
mkfifo "$work/pipe"
start_server --log "$work/log"
expect 0 get kept && out 'value\n'
"$plov" load "$work/pipe" > "$work/loaded" 2>&1 3>&- &
loader=$!
exec 4> "$work/pipe"
for ((i = 0; i < 5000; ++i)); do printf 'key%d\tvalue\n' $i; done >&4
wait_for "$plov" get key100
drain --timeout 10m
drain_says '^draining: 1 client left$'
expect 3 get key100 && says 'the server takes no new clients: it was told to end once those it has are gone'
run doctor && shows 'drain --cancel'
expect 0 config get spin-us
printf 'last\tvalue\n' >&4
exec 4>&-
wait "$loader" || fail "load ended with $?: $(cat "$work/loaded")"
drain_ends 0
grep -q '^drained: all clients have gone, the server has ended$' "$work/drain" || fail "$(cat "$work/drain")"
wait "$server" || fail "the server ended with $?"
server=""
start_server --log "$work/log"
expect 0 get last && out 'value\n'
expect 0 get key4999

# Cancelled: the server serves, and who drained is told.
"$plov" load "$work/pipe" > "$work/loaded" 2>&1 3>&- &
loader=$!
exec 4> "$work/pipe"
printf 'more\tvalue\n' >&4
repeat x 200000 >&4 # no line yet: the client is there and waits
drain --timeout 10m
drain_says '^draining: '
expect 0 drain --cancel && out 'serving\n'
drain_ends 3
grep -q 'the drain was cancelled' "$work/drain.err" || fail "$(cat "$work/drain.err")"
expect 0 ping

# Who does not go is closed.
expect 0 drain --timeout 100ms --json && is_json && shows '"state":"drained"'
wait "$server" || fail "the server ended with $?"
server=""
exec 4>&-
wait "$loader" 2> /dev/null || true
