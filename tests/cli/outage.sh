#!/usr/bin/env bash
# Servers that stop or die, and output that cannot be written.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mkfifo "$work/fifo"

# elapsed_under SECONDS ARGUMENT...: ends with 3 and in time.
fails_within() {
  local limit=$1 before=$SECONDS
  shift
  expect 3 "$@"
  ((SECONDS - before <= limit)) || fail "plov $* took $((SECONDS - before)) s"
}

# --wait: a server that is started later is found.
expect 3 ping
timeout 100 "$plov" --wait 90s ping > "$work/waited" &
waiting=$!
start_server
wait "$waiting" || fail "--wait"
grep -q answered "$work/waited" || fail "--wait: no answer"
end_server TERM

# A stopped server lets nobody in; each command ends in its time.
start_server
expect 0 put a Ada
pause_server
for words in 'get a' 'put a b' 'delete a' dump stats ping 'load /dev/null'; do
  # shellcheck disable=SC2086
  fails_within 10 --timeout 300ms $words
done
expect 3 --timeout 300ms doctor
shows '^PROBLEM  server'
kill -CONT "$server"
expect 0 get a && out 'Ada\n'

# Who is connected already goes on reading.
python3 -c '
for i in range(20000): print(f"{i:08d}\t" + "v" * 50)' > "$work/lines"
expect 0 load "$work/lines" && expect 0 delete a
timeout 100 "$plov" dump > "$work/fifo" &
dumper=$!
exec 3< "$work/fifo"
head -c 1000 <&3 > "$work/out" # a part: the pipe is full and dump waits
pause_server
cat <&3 >> "$work/out"
exec 3<&-
wait "$dumper" || fail "dump of a stopped server"
LC_ALL=C sort "$work/out" | cmp -s - "$work/lines" || fail "dump of a stopped server is whole"
kill -CONT "$server"

# feed TEXT: to descriptor 3, whose reader may be gone: a load ends at once when the reply to its
# last line, which was visible before, does not come.
feed() { (trap '' PIPE && printf '%b' "$1" >&3) 2> /dev/null || true; }

# load_and COMMAND...: runs it behind the first line of a load that then fails.
load_and() {
  timeout 100 "$plov" --timeout 1s load "$work/fifo" > "$work/out" 2> "$work/err" &
  local loader=$!
  exec 3> "$work/fifo"
  printf 'first\t%s\n' "$*" >&3
  first_is() { [[ $("$plov" get first) == "$*" ]]; }
  wait_for first_is "$@"
  "$@"
  feed 'second\t2\nthird\t3\n'
  exec 3>&-
  status=0
  wait "$loader" || status=$?
  check_status 3 load
  # The first line may be visible before its reply has arrived.
  says "stopped at $work/fifo:[12]: " && shows '^stored [01] items\?'
}
load_and pause_server && says 'no answer within the deadline'
kill -CONT "$server"
load_and end_server KILL
expect 3 get first && says 'no server'

# A load does not go on with another life of the server.
start_server
timeout 100 "$plov" load "$work/fifo" > "$work/out" 2> "$work/err" &
loader=$!
exec 3> "$work/fifo"
printf 'first\t1\n' >&3
wait_for "$plov" get first
end_server KILL
start_server
feed 'second\t2\n'
exec 3>&-
status=0
wait "$loader" || status=$?
check_status 3 load && says 'stopped at'

# Output that cannot be written.
expect 0 load "$work/lines" && expect 0 put second 2
status=0
{ timeout 100 "$plov" dump 2> "$work/err" || echo $? > "$work/status"; } | head -n 1 > "$work/out"
has_lines 1 && says 'Broken pipe' && [[ $(cat "$work/status") == 3 ]] || fail "closed pipe"
if [[ -c /dev/full ]]; then
  for words in 'get second' 'dump --json' stats doctor help; do
    status=0
    # shellcheck disable=SC2086
    timeout 100 "$plov" $words > /dev/full 2> "$work/err" || status=$?
    : > "$work/out"
    check_status 3 "$words" && says 'No space left'
  done
  status=0
  timeout 100 "$plovd" --help > /dev/full 2> "$work/err" || status=$?
  [[ $status == 3 ]] && says 'No space left' || fail 'plovd --help that cannot be written'
fi
status=0
"$plov" get second >&- 2> "$work/err" || status=$?
check_status 3 get && says 'Bad file descriptor'
status=0
"$plov" put second <&- 2> "$work/err" || status=$?
check_status 3 put && says 'Bad file descriptor'
end_server TERM
