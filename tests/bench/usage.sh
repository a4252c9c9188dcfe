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
expect 2 verbs --html '' && says 'html is empty'
expect 2 fabric --html '' && says 'html is empty'
expect 2 fabric --fabric tcp && says 'shm or rdma'
expect 2 fabric --fabric shm --device rxe0 && says 'device is for'
for text in 0 255 x; do expect 2 fabric --items "$text" && says '\-\-items'; done
for text in 63 65K x; do expect 2 fabric --value-bytes "$text" && says '\-\-value-bytes'; done
for text in 0 65 x; do expect 2 fabric --window "$text" && says '\-\-window'; done
for text in 0 999 x; do expect 2 compare --items "$text" && says '\-\-items'; done
for text in 'memory,' '' nonsense; do expect 2 compare --peers "$text" && says 'there are memory,lmdb'; done
for text in 0 1001 x; do expect 2 compare --rounds "$text" && says '\-\-rounds'; done
for text in 0 1001 x; do expect 2 busy --rounds "$text" && says '\-\-rounds'; done
for text in 0 999 x; do expect 2 durable --items "$text" && says '\-\-items'; done
expect 2 durable --dir '' && says 'dir is empty'
for text in 0 15M x; do expect 2 evict --memory "$text" && says '\-\-memory'; done
for text in nonsense '' 'scan,' twitter:5; do expect 2 evict --workload "$text" && says '\-\-workload'; done
expect 2 compare --duration 25h && says '\-\-duration'
expect 2 compare --html '' && says 'html is empty'

expect 2 run nonsense
expect 2 run --workload ycsb-e && says 'hash table has no order'
expect 2 run --workload ycsb-g && says 'there are ycsb-a'
for text in twitter:5 twitter:55 twitter:x; do expect 2 run --workload "$text" && says 'without 5'; done
for text in 0 x '' 1.5; do expect 2 run --items "$text" && says '\-\-items'; done
for text in 7 1025 x; do expect 2 run --key-bytes "$text" && says '\-\-key-bytes'; done
for text in x 17M '' 5.. ..5 6..5 1..17M 1...2; do
  expect 2 run --value-bytes "$text" && says '\-\-value-bytes'
done
expect 2 run --distribution normal && says 'uniform, zipfian or latest'
for text in 0 -1 11 x '' nan; do expect 2 run --exponent "$text" && says '\-\-exponent'; done
expect 2 run --exponent 1 --distribution uniform && says 'exponent is for'
expect 2 run --workload counters --value-bytes 9 && says 'not for the workload counters'
for text in -1 101 x '' nan; do expect 2 run --reads "$text" && says '\-\-reads'; done
for text in 0 257 x; do
  expect 2 run --clients "$text" && says '\-\-clients'
  expect 2 run --window "$text" && says '\-\-window'
done
for text in 0 x 2G 1M nan 1e10; do expect 2 run --rate "$text" && says '\-\-rate'; done
for text in 0 1001 x; do expect 2 run --rounds "$text" && says '\-\-rounds'; done
for text in 0 '' 5x 25h; do expect 2 run --duration "$text" && says '\-\-duration'; done
for text in '' 5x 25h; do expect 2 run --warmup "$text" && says '\-\-warmup'; done
expect 2 run --location-cache x && says '\-\-location-cache'
expect 2 run --rate 5 --sweep && says 'leave \-\-rate out'
expect 2 run --load --no-load && says 'not both'
expect 2 run --load && says 'needs \-\-server'
expect 2 run --server '' && says 'server is empty'
for word in --shards --memory --bucket-bytes --spin-us --listen --plovd; do
  expect 2 run --server shm:/none "$word" 64 && says 'of the tool'
done
expect 2 run --server shm:/none --hugepages && says 'of the tool'
for text in 63 96 129 x; do expect 2 run --bucket-bytes "$text" && says '\-\-bucket-bytes'; done
for text in 0 65 x; do expect 2 run --shards "$text" && says '\-\-shards'; done
expect 2 run --memory 1K && says '\-\-memory'
expect 2 run --html '' && says 'html is empty'
printf 'get a\nput a\n' > "$work/broken"
expect 2 run --replay "$work/broken" && says "broken:2: write put KEY BYTES"
printf 'get a\n' > "$work/one"
expect 2 run --replay "$work/one" --items 5 && says 'a replay says itself'
expect 2 run --replay "$work/one" --warmup 1s && says '\-\-warmup'
expect 2 run --replay "$work/one" --sweep && says 'needs \-\-duration'
expect 2 run --replay "$work/one" --load --server shm:/none && says 'nothing before'
expect 3 run --replay "$work/none" && says 'cannot read'

expect 2 designs --fabric tcp && says 'shm or rdma'
expect 2 designs --device rxe0 && says 'device is for'
for text in 0 255 x; do expect 2 designs --items "$text" && says '\-\-items'; done
for text in 7 17K '64,' ''; do expect 2 designs --value-bytes "$text" && says '\-\-value-bytes'; done
for text in 0 65 x; do expect 2 designs --window "$text" && says '\-\-window'; done
for text in 0 65 x '1,' ''; do expect 2 designs --clients "$text" && says '\-\-clients'; done
for text in 0 17 x '1,' ''; do expect 2 designs --servers "$text" && says '\-\-servers'; done
expect 2 designs --html '' && says 'html is empty'
for text in 0 9999 x; do expect 2 table --items "$text" && says '\-\-items'; done
for text in 0 1001 x; do expect 2 table --seeds "$text" && says '\-\-seeds'; done
for text in 63 96 256 '64,' ''; do
  expect 2 table --bucket-bytes "$text" && says '\-\-bucket-bytes'
done
expect 2 table --html '' && says 'html is empty'

for text in nonsense '' 'items,'; do expect 2 scale --axis "$text" && says '\-\-axis'; done
for text in 0 127M x; do expect 2 scale --memory "$text" && says '\-\-memory'; done
expect 2 scale --markdown '' && says 'markdown is empty'

expect 0 --version && shows '^plov-bench [0-9]'
for words in --help -h help; do expect 0 "$words" && shows '^Usage: plov-bench'; done
for command in run busy cluster compare designs durable evict fabric scale table verbs; do
  expect 0 --help && shows "^  $command " && shows "^Options of $command:"
  expect 0 "$command" --help && shows "^Usage: plov-bench $command" && cp "$work/out" "$work/first"
  expect 0 help "$command"
  cmp -s "$work/first" "$work/out" || fail "help $command"
done

expect 3 verbs --quick --device nonsense && says 'RDMA'
expect 3 fabric --quick --plovd "$plovd" --device nonsense && says 'RDMA'
expect 3 fabric --fabric shm --quick --plovd "$work/none" && says 'did not start'
expect 3 run --quick --plovd "$work/none" && says 'did not start'
expect 3 run --quick --server "shm:$work/none.sock" && says 'none.sock'
expect 2 cluster --simulate --servers 49 && says '50 at least'
expect 2 cluster --simulate --servers 2049 && says '2048 at most'
expect 2 cluster --clients 10 && says 'simulate'
expect 0 cluster --simulate --servers 50 --json && shows '"name":"takeover"' && shows '"name":"repair_rack"'
if grep -q '"reached":false' "$work/out"; then fail 'what the code decides is not what the formulas say'; fi
expect 3 busy --quick --plovd "$work/none" && says 'did not start'
expect 3 compare --quick --plovd "$work/none" && says 'did not start'
expect 3 designs --quick --plovd "$work/none" && says 'did not start'
expect 3 durable --quick --plovd "$work/none" && says 'did not start'
expect 3 evict --quick --plovd "$work/none" && says 'did not start'
