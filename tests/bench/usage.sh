#!/usr/bin/env bash
# What plov-bench says about wrong command lines, and help. Called with its path and plovd's.
set -euo pipefail

tool=$1 plovd=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}

# expect STATUS ARGUMENT...: runs the tool.
expect() {
  local wanted=$1 status=0
  shift
  timeout 60 "$tool" "$@" > "$work/out" 2> "$work/err" || status=$?
  ((status == wanted)) || fail "plov-bench $* ended with $status, not $wanted"
}
says() { grep -q -e "$1" "$work/err" || fail "standard error does not say: $1"; }
shows() { grep -q -e "$1" "$work/out" || fail "standard output does not show: $1"; }

expect 2 && says 'which command'
expect 2 nonsense && says "no command 'nonsense'"
expect 2 help nonsense && says "no command 'nonsense'"
expect 2 verbs --nonsense && says '\-\-nonsense'
expect 2 verbs nonsense && expect 2 fabric nonsense
expect 2 verbs --quic # no guessing of abbreviations

for text in 0 15 12 20 65K x '' '64,'; do expect 2 verbs --bytes "$text" && says '\-\-bytes'; done
for text in 0 257 x '' '1,'; do expect 2 verbs --windows "$text" && says '\-\-windows'; done
for text in 'READ,' '' read SEND; do
  expect 2 verbs --combinations "$text" && says 'there are READ SEND/SEND'
done
for text in 0 '' 5x 25h; do
  expect 2 verbs --duration "$text" && says '\-\-duration'
  expect 2 fabric --duration "$text" && says '\-\-duration'
done
for text in 0 1001 x; do
  expect 2 verbs --rounds "$text" && says '\-\-rounds'
  expect 2 fabric --rounds "$text" && says '\-\-rounds'
done
expect 2 verbs --server --client here && says 'one of them on each'
expect 2 verbs --client '' && says 'client is empty'
expect 2 verbs --port 5 && says '\-\-port is for'
for text in 0 65536 x; do expect 2 verbs --server --port "$text" && says '\-\-port'; done
expect 2 verbs --svg '' && says 'svg is empty'
expect 2 verbs --html '' && says 'html is empty'
expect 2 fabric --fabric tcp && says 'rdma or shm'
expect 2 fabric --fabric shm --device rxe0 && says 'device is for'
for text in 0 255 x; do expect 2 fabric --items "$text" && says '\-\-items'; done
for text in 63 65K x; do expect 2 fabric --value-bytes "$text" && says '\-\-value-bytes'; done
for text in 0 65 x; do expect 2 fabric --window "$text" && says '\-\-window'; done

expect 0 --version && shows '^plov-bench [0-9]'
for words in --help help; do expect 0 "$words" && shows '^Usage: plov-bench'; done
for command in verbs fabric; do
  expect 0 --help && shows "^  $command " && shows "^Options of $command:"
  expect 0 "$command" --help && shows "^Usage: plov-bench $command" && cp "$work/out" "$work/first"
  expect 0 help "$command"
  cmp -s "$work/first" "$work/out" || fail "help $command"
done

expect 3 verbs --quick --device nonsense && says 'RDMA'
expect 3 fabric --quick --plovd "$plovd" --device nonsense && says 'RDMA'
expect 3 fabric --fabric shm --quick --plovd "$work/none" && says 'did not start'
