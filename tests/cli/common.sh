# shellcheck shell=bash
# Sourced by the tests of plov, which are called with the paths of plovd and plov: a folder and a
# server of their own, and checks.
set -euo pipefail

plovd=$1
plov=$2
work=$(mktemp -d /tmp/plov-cli.XXXXXX) # short, as the name of a socket must be
uri=shm:$work/s.sock
export PLOV_SERVER=$uri
unset PLOVD_MAX_VALUE PLOVD_LISTEN PLOVD_MEMORY
server=""
failures=0

on_exit() {
  local status=$?
  trap - EXIT
  if [[ -n $server ]]; then
    kill -CONT "$server" 2> /dev/null || true
    kill -KILL "$server" 2> /dev/null || true
  fi
  rm -rf "$work"
  if ((status == 0 && failures > 0)); then status=1; fi
  exit "$status"
}
trap on_exit EXIT
trap 'exit 143' INT TERM

# start_server [OPTION...]. The server must not hold the pipe that a test has at descriptor 3.
start_server() {
  local tries memory=(--memory 64M) level=(--log-level warn)
  if [[ " $* " == *" --memory "* ]]; then memory=(); fi
  if [[ " $* " == *" --log-level "* ]]; then level=(); fi
  : > "$work/ready"
  "$plovd" --listen "$uri" "${level[@]}" "${memory[@]}" "$@" > "$work/ready" 3>&- &
  server=$!
  for ((tries = 0; tries < 600; ++tries)); do
    if grep -q '^plovd: ready on ' "$work/ready"; then return; fi
    kill -0 "$server" 2> /dev/null || break
    sleep 0.05
  done
  echo "plovd did not start"
  exit 1
}

# end_server SIGNAL
end_server() {
  kill "-$1" "$server"
  wait "$server" 2> /dev/null || true
  server=""
}

# Stops the server's threads and waits until they are stopped.
pause_server() {
  kill -STOP "$server"
  wait_for server_is_paused
}
server_is_paused() { ! grep -h '^State:' "/proc/$server"/task/*/status | grep -qv 'T (stopped)'; }

# fail WHAT...: notes a failure and goes on. Not in a subshell, which forgets it.
fail() {
  echo "FAILED at line ${BASH_LINENO[-2]}: $*"
  if [[ -s $work/out ]]; then echo "  stdout: $(head -c 300 "$work/out" | tr '\0' '?')"; fi
  if [[ -s $work/err ]]; then echo "  stderr: $(head -c 600 "$work/err")"; fi
  failures=$((failures + 1))
}

# run ARGUMENT...: plov, its output in $work/out and $work/err, its exit status in $status.
run() {
  status=0
  timeout 100 "$plov" "$@" > "$work/out" 2> "$work/err" || status=$?
}

# check_status STATUS ARGUMENT...: that one, with one line on standard error unless it is 0.
check_status() {
  local wanted=$1 lines
  shift
  lines=$(wc -l < "$work/err")
  ((status == wanted)) || fail "plov $* ended with $status, not $wanted"
  ((lines == (wanted == 0 ? 0 : 1))) || fail "plov $* wrote $lines lines on stderr"
  if ((wanted != 0)) && ! grep -q '^plov: ' "$work/err"; then fail "plov $*: no 'plov: '"; fi
}

# expect STATUS ARGUMENT...: runs plov with these arguments.
expect() {
  local wanted=$1
  shift
  run "$@"
  check_status "$wanted" "$@"
}

# out TEXT: the last run printed exactly this (with printf's escapes).
out() {
  # shellcheck disable=SC2059
  printf "$1" > "$work/wanted"
  cmp -s "$work/wanted" "$work/out" || fail "stdout is not '$1'"
}

# says PATTERN: the last run's standard error does.
says() { grep -q -e "$1" "$work/err" || fail "stderr does not say '$1'"; }

# shows PATTERN: the last run's standard output does.
shows() { grep -q -e "$1" "$work/out" || fail "stdout does not show '$1'"; }

# has_lines COUNT: the last run's standard output has.
has_lines() { [[ $(wc -l < "$work/out") == "$1" ]] || fail "stdout has not $1 lines"; }

# is_json [--json-lines]: the last run's output is. Python as it starts soonest: a virtual machine may
# take seconds for it.
is_json() {
  python3 -ISc '
import json, sys
for text in sys.stdin if sys.argv[1:] else [sys.stdin.read()]:
    json.loads(text)' "$@" < "$work/out" || fail "stdout is no JSON"
}

# wait_for COMMAND...: until it succeeds.
wait_for() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    if "$@" > /dev/null 2>&1; then return; fi
    sleep 0.05
  done
  fail "waited in vain for: $*"
}

# repeat BYTE COUNT: BYTE as tr writes it.
repeat() { head -c "$2" /dev/zero | tr '\0' "$1"; }
