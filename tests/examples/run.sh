#!/usr/bin/env bash
# Runs one example against a plovd of its own and checks what it prints.
#
#   tests/examples/run.sh PLOVD PROGRAM hello|hello_c|read_speed|counter|histogram|event_loop|session_cache
set -euo pipefail

readonly plovd=$1 program=$2 example=$3
readonly seconds=60  # a limit, not an expectation
folder=$(mktemp -d)
readonly folder uri="shm:$folder/plov.sock" out="$folder/out"
server=""

on_exit() {
  if [[ -n $server ]]; then
    kill -KILL "$server" 2> /dev/null || true
    wait "$server" 2> /dev/null || true
  fi
  rm -rf "$folder"
}
trap on_exit EXIT
trap 'exit 143' INT TERM

fail() {
  echo "failed: $*"
  if [[ -s $out ]]; then cat "$out"; fi
  exit 1
}

start_server() {
  local tries
  "$plovd" --listen "$uri" --memory 64M > "$folder/server" 2>&1 &
  server=$!
  for ((tries = 0; tries < 600; ++tries)); do
    if grep -q '^plovd: ready on ' "$folder/server"; then return; fi
    kill -0 "$server" 2> /dev/null || break
    sleep 0.1
  done
  cat "$folder/server"
  fail "plovd does not start"
}

# run ARGUMENTS...: the example, with its output in $out; it must succeed.
run() { timeout "$seconds" "$program" "$@" > "$out" 2>&1 || fail "$example $* ended with $?"; }

# refuses STATUS TEXT ARGUMENTS...: it must end with STATUS and say TEXT.
refuses() {
  local wanted=$1 text=$2 status=0
  shift 2
  timeout "$seconds" "$program" "$@" > "$out" 2>&1 < /dev/null || status=$?
  [[ $status == "$wanted" ]] || fail "$example $* ended with $status, not $wanted"
  grep -qF -- "$text" "$out" || fail "$example $* does not say: $text"
}

# prints TEXT: the last run printed exactly that.
prints() { diff <(echo "$1") "$out" || fail "$example printed something else"; }

check_hello() {
  run "$uri"
  prints $'stored user:1\nuser:1 is Ada\nremoved user:1\nuser:1 is absent'
}

check_hello_c() { check_hello; }

check_read_speed() {
  refuses 2 "usage: read_speed" --seconds 0
  refuses 2 "usage: read_speed" --wrong
  refuses 1 "there are no keys" "$uri"
  fill
  for options in "" "--many" "--keys $folder/keys" "--keys $folder/keys --many"; do
    # shellcheck disable=SC2086  # several words
    run "$uri" --seconds 0.2 $options
    grep -qE '^[1-9][0-9]* GETs/s, [0-9.]+ READs per GET, 100\.0 % hits, 0 answered by the server, 0 errors$' \
      "$out" || fail "$example $options printed something else"
  done
  printf 'nobody:%s\n' 1 2 3 > "$folder/keys"
  run "$uri" --seconds 0.2 --keys "$folder/keys"
  grep -qF ' 0.0 % hits' "$out" || fail "absent keys were hits"
}

# Some items, by another example, and their keys in $folder/keys.
fill() {
  local i
  for ((i = 0; i < 500; ++i)); do echo "key:$i"; done > "$folder/keys"
  sed 's/.*/put & value-of-&/' "$folder/keys" |
    timeout "$seconds" "$(dirname "$program")/event_loop" "$uri" > "$out"
  [[ $(grep -c ': stored$' "$out") == 500 ]] || fail "the items were not stored"
}

check_counter() {
  local pids=() i
  refuses 2 "usage: counter"
  for i in 1 2 3 4; do
    timeout "$seconds" "$program" hits 250 "$uri" > "$folder/counter.$i" 2>&1 &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i" || fail "a counter ended with $?"; done
  run hits 1 "$uri"  # nothing was lost and nothing came twice
  prints "hits is 1001"
  refuses 1 "this is not a number" hits many "$uri"
}

check_histogram() {
  local pids=() i
  refuses 2 "usage: histogram"
  for i in 1 2 3 4; do
    echo "1 22 333 4444" | timeout "$seconds" "$program" lengths "$uri" > "$folder/histogram.$i" 2>&1 &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i" || fail "a histogram ended with $?"; done
  echo "22 22" | run lengths "$uri"  # nothing was lost and nothing came twice
  prints "1 digits: 4
2 digits: 6
3 digits: 4
4 digits: 4
in all: 18"
}

check_event_loop() {
  echo "put a 1 2" | run "$uri"
  prints "put a: stored"
  printf '%s\n' "get a" "get b" "get" "list" "put c" "delete nobody" | run "$uri"
  sort -o "$out" "$out"
  prints "delete nobody: absent
get : kInvalidArgument, keys are 1 to 1024 bytes
get a: 1 2
get b: absent
list : is none of get, put, delete
put c: stored"
  printf 'delete a\n' | run "$uri"
  prints "delete a: removed"
  for ((i = 0; i < 2000; ++i)); do echo "put many:$i $i"; done | run "$uri"
  [[ $(grep -c ': stored$' "$out") == 2000 ]] || fail "not all were stored"
  for ((i = 0; i < 2000; ++i)); do echo "get many:$i"; done | run "$uri"
  [[ $(grep -cE '^get many:([0-9]+): \1$' "$out") == 2000 ]] || fail "not all came back"
}

check_session_cache() {
  run "$uri" 3  # long enough for a slow machine to come between
  prints "opened session:8f3a
user 4711 has seen 0 pages
renewed session:8f3a
session:8f3a has expired
renewing it now: kNotFound"
}

start_server
"check_$example"
# Without a server every example says so in one line and fails.
arguments=("shm:$folder/nobody.sock")
if [[ $example == counter ]]; then arguments=(hits 1 "${arguments[@]}"); fi
if [[ $example == histogram ]]; then arguments=(lengths "${arguments[@]}"); fi
refuses 1 "no server on" "${arguments[@]}"
[[ $(wc -l < "$out") == 1 ]] || fail "more than one line"
kill -TERM "$server"
wait "$server" || fail "plovd ended with $?"
server=""
