#!/usr/bin/env bash
# plov shell: from a pipe, and on a terminal.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$(dirname "${BASH_SOURCE[0]}")

export HOME=$work/home XDG_STATE_HOME=$work/state
mkdir "$HOME"

# shell STATUS LINES [OPTION...]: runs these lines (with printf's escapes).
shell() {
  local wanted=$1
  # shellcheck disable=SC2059
  printf "$2" > "$work/lines"
  run "${@:3}" shell < "$work/lines"
  ((status == wanted)) || fail "the shell ended with $status, not $wanted"
}
# told TEXT: the last run's standard error is exactly this.
told() {
  # shellcheck disable=SC2059
  printf "$1" | cmp -s - "$work/err" || fail "stderr is not '$1'"
}

# Without a server, and without a command.
shell 0 '' && out '' && told ''
shell 3 'help exists\nget a\n' && shows '^Usage: plov .*exists' && says "no server on $work/s.sock"
expect 2 < /dev/null && says 'which command'
start_server

# A command a line; errors do not end it; it ends as the last one.
shell 0 'put a 1\nget nope\n\n  \nnonsense\nget a\n'
out '1\n' && told "plov: get: no item has the key 'nope'\nplov: no command 'nonsense' (try plov --help)\n"
shell 1 'get a\nget nope' && out '1\n'
shell 2 'get a\nget\n' && shell 1 'exists nope\nexit\nget a\n' && out '' && told ''
shell 0 'get nope\nget a\r\nquit\n' && shell 0 'exit now\nget a\n' && says "no command 'exit'"
shell 2 'shell\n' && says 'this is one already'
shell 0 'get a\nget a --json\n' --json && is_json --json-lines && has_lines 2
shell 3 'get a\nget a --server shm:/none.sock\n' && out '1\n' && says 'none.sock'
shell 0 'get a\ntouch a\nget a --read-from primary\nget a\n' --json --read-from any-replica && has_lines 4
[[ $(grep -c '"age_us":0}$' "$work/out") == 2 ]] || fail "--read-from holds for each command"
shell 0 "get a --server $uri\n" --server shm:/none.sock && out '1\n'

# It does not go on when nobody reads what it prints.
for ((i = 0; i < 20000; ++i)); do echo 'help put'; done > "$work/lines"
status=0
{ timeout 100 "$plov" shell < "$work/lines" 2> "$work/err" || echo $? > "$work/status"; } | head -n 1 > "$work/out"
[[ $(cat "$work/status") == 3 && $(wc -l < "$work/err") == 1 ]] || fail "closed pipe"
status=0
"$plov" shell <&- > "$work/out" 2> "$work/err" || status=$?
check_status 3 shell && says 'cannot read standard input: Bad file descriptor'

# Words with any bytes.
shell 0 'put "k\\x00\\n" "v\\xff\\t"\nget "k\\x00\\n"\n' && out 'v\xff\t\n'
shell 0 "put 'a b' c\\\\ d\nget \"a b\"\nscan 'a '\n" && out 'c d\na b\n'
shell 2 "put x 'y\n" && told "plov: shell: the line ends within '...'\n" && shell 1 'exists x\n'
head -c 1048576 /dev/urandom > "$work/value"
{
  printf 'put large "'
  python3 -c 'import sys; print("".join(f"\\x{b:02x}" for b in open(sys.argv[1], "rb").read()), end="")' "$work/value"
  printf '"\nput after 1\n'
} | "$plov" shell || fail "a value of 1 MiB"
expect 0 get large && head -c -1 "$work/out" | cmp -s - "$work/value" || fail "1 MiB come back"
expect 0 get after
{ repeat x 70000000; printf '\nget after\n'; } | "$plov" shell > "$work/out" 2> "$work/err" || fail "a line too long"
out '1\n' && told 'plov: shell: a line is longer than any command\n'

# Commands do not read the lines that follow them.
shell 0 'put b\nput b -\nload -\nget after\n' && shows '^1$' && expect 1 get b
[[ $("$plov" shell < "$work/lines" 2>&1 | grep -c 'cannot read .*: Bad file descriptor$') == 3 ]] ||
  fail "three that read standard input"
shell 2 'flush\n' && says '\-\-yes' && expect 0 get after

# One connection for all of them, which outlives a server that is stopped, and not one that is gone.
clients() { "$plov" stats --json | grep -o '"clients":[0-9]*' | tail -n 1 | tr -dc '0-9'; }
mkfifo "$work/fifo"
timeout 100 "$plov" --timeout 1h shell < "$work/fifo" > "$work/shell" 2> "$work/err" &
shell=$!
exec 3> "$work/fifo"
# lines COUNT: that many have come out.
lines() { [[ $(wc -l < "$work/shell") == "$1" ]]; }
for ((i = 1; i <= 3; ++i)); do
  printf 'get after\n' >&3
  wait_for lines "$i"
done
[[ $(clients) == 2 ]] || fail "$(clients) clients, not the shell's and this one"
pause_server
printf 'get after\n' >&3
wait_for lines 4
kill -CONT "$server"
end_server KILL
printf 'get after\n' >&3
wait_for grep -q "no server on $work/s.sock" "$work/err"
start_server
expect 0 put after 2
printf 'get after\nexists after\nput after 3\nget after\n' >&3
wait_for lines 6
printf 'drain --timeout 20s\n' >&3 # does not wait for the shell itself
wait_for grep -q '^drained: all clients have gone' "$work/shell"
exec 3>&-
wait "$shell" || fail "the shell"
printf '1\n1\n1\n1\n2\n3\n' | cmp -s - <(head -n 6 "$work/shell") || fail "what it printed"
wait "$server" || true
server=""

start_server
python3 "$here/shell_terminal.py" "$plov" "$server" || fail "on a terminal"
kill -CONT "$server" # where that failed
end_server TERM
