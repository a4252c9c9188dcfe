#!/usr/bin/env bash
# config, and a SIGHUP after which the file is read again.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

conf=$work/plovd.conf
log=$work/messages
# logs PATTERN: waits until the server's file has it.
logs() { wait_for grep -q -e "$1" "$log"; }
# is NAME VALUE: the server's setting.
is() {
  expect 0 config get "$1"
  shows "^$1  *$2\$"
}

printf 'spin-us = 10\nmax-clients = 100\n' > "$conf"
start_server --memory 32M --config "$conf" --log-level info --log-output "$log" 2> "$work/errors"

expect 0 config get && has_lines 8 && shows '^slow-write  *10000us$' && shows '^memory  *33554432$' && shows '^log-level  *info$'
expect 0 config get --json && is_json
is spin-us 10
expect 0 config set spin-us 99 && out ''
is spin-us 99
expect 0 config set spin-us 1K --json && is_json && out '{"spin-us":"1024"}\n'
logs 'spin-us is 1024 now'
expect 0 config set log-level debug && is log-level debug && expect 0 config set log-level info

# What is wrong changes nothing, and says what would be right.
for words in 'spin-us x' 'spin-us 1000001' 'spin-us -1' 'max-clients 0' 'log-level loud' 'memory 1' \
  'memory 100G' 'snapshot-keep 2' 'snapshot-rate 9M'; do
  # shellcheck disable=SC2086
  expect 2 config set $words && says "--${words% *}"
done
expect 2 config set spin-us '' && expect 2 config set '' 1 && says "'' cannot change while plovd runs"
expect 2 config set 'spin-us 5' 7
expect 2 config set shards 2 && says "'shards' cannot change while plovd runs: it is none of log-level, "
expect 2 config get nonsense && says 'it is none of'
expect 2 config set && expect 2 config set spin-us && expect 2 config get a b && expect 2 config put a b
expect 2 config set memory 16M && says 'memory is 33554432 bytes, and only grows'
expect 2 config set memory 97M && says 'cannot be more than 100663296 bytes'
expect 2 config get "$(repeat x 2000)" && says 'no command is so long'
is spin-us 1024 && is memory 33554432

# Memory: what found no room does.
repeat v 1000000 > "$work/value"
put_all() {
  local i
  for ((i = 0; i < 60; ++i)); do
    "$plov" put "key$i" - < "$work/value" 2> "$work/err" || return 1
  done
}
if put_all; then fail "60 MB went into 32 MiB"; fi
says 'full'
expect 0 config set memory 96M && is memory 100663296
put_all || fail "60 MB did not go into 96 MiB"
expect 0 stats --json && shows '"memory_bytes":100663296'

# The file: what changed in it, and no more.
printf 'spin-us = 20\nmax-clients = 100\nshards = 2\nwarm = /nonexistent\n' > "$conf"
expect 0 config set max-clients 55
kill -HUP "$server"
logs 'the options were read again: 1 changed'
logs 'plovd must be restarted to change shards, warm$'
is spin-us 20 && is max-clients 55
kill -HUP "$server"
logs 'the options were read again: 0 changed'

# A line that is gone: as if it had never been there.
printf 'max-clients = 66\n' > "$conf"
kill -HUP "$server"
logs 'the options were read again: 2 changed'
is spin-us 50 && is max-clients 66

# Broken, and unreadable.
printf 'max-clients = 77\nspin-us = much\n' > "$conf"
kill -HUP "$server"
logs "nothing was changed: $conf:2: spin-us: 'much' is not"
rm "$conf"
kill -HUP "$server"
logs "nothing was changed: cannot read --config $conf: No such file"
is max-clients 66

# Rotated, by name alone and with the signal.
mv "$log" "$log.1"
expect 0 config set spin-us 1
logs 'spin-us is 1 now'
mv "$log" "$log.2"
kill -HUP "$server"
logs 'nothing was changed'
[[ ! -s $work/errors ]] || fail "plovd wrote on standard error: $(cat "$work/errors")"
end_server TERM
logs stopping

# Nearly all of the host's memory.
total=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
start_server --memory $((total * 4 / 10))K --log-output "$log" 2> "$work/errors"
expect 0 config set memory $((total * 97 / 100))K
logs "that others use come to [0-9]* % of .*lower --memory"
end_server TERM

# Files that are none.
for where in "$work" "$work/none/log" /dev/null ''; do
  if "$plovd" --listen "$uri" --memory 16M --log-output "$where" 2> "$work/err"; then fail "--log-output '$where'"; fi
  says 'log-output'
done
