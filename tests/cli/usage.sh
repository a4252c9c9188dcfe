#!/usr/bin/env bash
# What is said about wrong command lines, and help. No server runs.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

commands=(get put delete mget exists touch vector load dump scan flush stats ping sync snapshot log backup restore shell
  doctor)

expect 2 && says 'which command'
expect 2 nonsense && says "no command 'nonsense' (try"
expect 2 stat && says "no command 'stat': did you mean 'stats'?"
expect 2 --timout 1s ping && says "did you mean '--timeout'?"
expect 2 --nonsense get a && says '\-\-nonsense'
expect 2 get a --nonsens=3 && says '\-\-nonsens'
expect 2 get && says 'usage: plov get KEY'
expect 2 get a b && expect 2 put && expect 2 put a b c && expect 2 delete && expect 2 delete a b
expect 2 mget && expect 2 load && expect 2 load a b && expect 2 dump a && expect 2 stats a
expect 2 exists && expect 2 touch && expect 2 scan a b && expect 2 flush a b && expect 2 shell a
expect 2 touch a --add && expect 2 scan --yes && expect 2 flush --values && expect 2 scan --delay 1s && expect 2 shell --ttl 1s
expect 2 ping a && expect 2 doctor a && expect 2 sync a && expect 2 snapshot a
expect 2 get a --server && says 'missing'
expect 2 --json --json get a
expect 2 --server http://x get a && says 'http://x'
expect 2 --server shm:../x get a && says 'names no socket'
expect 2 --server "shm:/$(repeat x 200)" get a && says 'longer'
expect 2 --serve "$uri" get a # no guessing of abbreviations

for text in 0 '' 5x 25h; do expect 2 --wait "$text" get a && says '\-\-wait'; done
for text in 0 0s '' 5x -3 s 1e3 99999999999999999999 25h; do
  expect 2 --timeout "$text" get a && says '\-\-timeout'
done
for text in '' any Primary; do
  expect 2 --read-from "$text" get a && says "\-\-read-from '$text' is neither primary nor any-replica"
done
for text in 0 '' 5x 8761h; do
  expect 2 --read-from any-replica --max-age "$text" get a && says '\-\-max-age'
done
expect 2 --max-age 1s get a && says '\-\-max-age is for --read-from any-replica'
expect 2 --read-from primary --max-age 1s get a
for text in 0 '' 5ms x 4294967296s 1500ms; do expect 2 put a b --ttl "$text" && says '\-\-ttl'; done
for text in -1 '' 4294967296 1x; do expect 2 put a b --flags="$text" && says '\-\-flags'; done
for text in -1 '' 0 1x; do expect 2 put a b --if-version="$text" && says '\-\-if-version'; done
expect 2 put a b --add --replace && says 'exclude' && expect 2 put a b --add --if-version 1
expect 2 delete a --ttl 3s && says '\-\-ttl is not an option of delete'
expect 2 sync --no-wait && says '\-\-no-wait is not an option of sync'
expect 2 delete a --add && expect 2 load - --flags 1 && expect 2 mget a --replace

expect 0 --version && shows '^plov [0-9]'
for words in --help help -h 'get --help --json' 'get -h' 'set -h' 'del --help'; do
  # shellcheck disable=SC2086
  expect 0 $words && shows '^Usage: plov'
done
for command in "${commands[@]}"; do
  expect 0 --help && shows "^  $command "
  expect 0 help "$command" && shows "^Usage: plov .*$command" && cp "$work/out" "$work/first"
  expect 0 "$command" --help && cmp -s "$work/first" "$work/out" || fail "$command --help"
done
expect 2 help nonsense && expect 2 nonsense --help

# No server: the address comes from --server, else PLOV_SERVER, else it is shm:default.
for words in 'get a' 'put a b' 'delete a' 'mget a' 'load /dev/null' dump stats ping sync snapshot \
  'exists a' 'touch a' scan 'flush --yes' 'vector get a' 'vector update a add 1' \
  'snapshot --no-wait'; do
  # shellcheck disable=SC2086
  expect 3 $words && says "no server on $work/s.sock: start plovd" && out ''
done
expect 3 ping --server "shm:$work/other.sock" && says 'other.sock'
PLOV_SERVER='' expect 3 --timeout 100ms --server "shm:$work/third.sock" ping && says 'third.sock'
if ((EUID != 0)); then
  export XDG_RUNTIME_DIR=$work
  PLOV_SERVER='' expect 3 ping && says "$work/plov-default.sock"
fi
expect 3 load "$work/none" && says "cannot open $work/none"
