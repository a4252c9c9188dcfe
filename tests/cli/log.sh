#!/usr/bin/env bash
# plovd --log: what was acknowledged is there again, what the log cannot vouch for is refused.
# Called with the paths of plovd and plov.
# shellcheck source=tests/cli/common.sh
source "$(dirname "$0")/common.sh"
dir=$work/log

# restart SIGNAL [OPTION...]: ends the server and starts it on the same log.
restart() {
  local signal=$1
  shift
  end_server "$signal"
  start_server --log "$dir" --log-segment 1M "$@"
}
# is KEY VALUE / is_absent KEY
is() {
  expect 0 get "$1"
  [[ $(cat "$work/out") == "$2" ]] || fail "$1 is '$(cat "$work/out")', not '$2'"
}
is_absent() { expect 1 get "$1"; }
# checksums: of all files but the lock.
checksums() { find "$dir" -type f ! -name '*.lock' -exec cksum {} + 2> /dev/null | sort || true; }
# refused WHAT STATUS TEXT [OPTION...]: plovd does not start, says why in one line, and changes nothing.
refused() {
  local what=$1 wanted=$2 text=$3 status=0 before after
  shift 3
  before=$(checksums)
  timeout 60 "$plovd" --listen "$uri" --log-level off --memory 64M --log "$dir" "$@" \
    > "$work/out" 2> "$work/err" || status=$?
  after=$(checksums)
  [[ $status == "$wanted" ]] || fail "$what: status $status"
  [[ $(wc -l < "$work/err") == 1 ]] || fail "$what: not one line: $(cat "$work/err")"
  grep -q -- "$text" "$work/err" || fail "$what: $(cat "$work/err")"
  [[ $before == "$after" ]] || fail "$what: files were changed"
}
# flip FILE OFFSET
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  # shellcheck disable=SC2059
  printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# A killed server loses nothing that was acknowledged, and what was deleted stays deleted.
start_server --log "$dir" --log-segment 1M
expect 0 put kept first
expect 0 put kept second
expect 0 put gone x
expect 0 delete gone
head -c 3000000 /dev/urandom | base64 -w 0 > "$work/long"
expect 0 put long - < "$work/long"
expect 0 put lives shortly --ttl 1h
expect 0 stats --json
shows '"log_failed": *0'
shows '"log_mode": *0'
restart KILL
is kept second
is_absent gone
expect 0 get long
cmp -s "$work/out" "$work/long" || [[ $(cat "$work/out") == "$(cat "$work/long")" ]] || fail 'the long value differs'
is lives shortly

# Again and again, and also after clean stops; versions go on growing.
for round in 1 2 3 4 5; do
  expect 0 put round "$round"
  expect 0 put "round$round" "$round"
  if ((round % 2 == 0)); then restart TERM; else restart KILL --commit async; fi
  # async may lose the end when it is killed; what acked acknowledged is there.
  ((round % 2 == 0)) || expect 0 put "round$round" "$round"
done
restart TERM
for round in 1 2 3 4 5; do is "round$round" "$round"; done
is kept second

# Another server, other shards.
status=0
timeout 60 "$plovd" --listen "$uri.2" --memory 64M --log "$dir" > "$work/out" 2> "$work/err" || status=$?
[[ $status == 3 ]] && says 'another plovd serves' || fail 'a second server on one folder'
end_server TERM
refused 'other shards' 3 'start with --shards 1' --shards 2
refused 'too small values' 3 'larger --max-value' --max-value 1K

# Warm memory beside the log: what either of them lacks, the other has.
dir=$work/both
memory=$work/memory
both=(--commit async --log-interval 60s --warm "$memory")
start_server --log "$dir" --log-segment 1M "${both[@]}"
expect 0 put kept first
expect 0 put gone x
expect 0 sync
expect 0 put kept second
expect 0 delete gone
restart KILL "${both[@]}"
is kept second
is_absent gone
end_server KILL
rm "$memory" "$memory.tail"  # as a power cut does
start_server --log "$dir" --log-segment 1M "${both[@]}"
is kept second
is_absent gone
# The log goes on without the memory, which is old then; and the memory without the log.
restart KILL
expect 0 put kept third
end_server KILL
refused 'memory that the log went on without' 3 'not served last with this --log' "${both[@]}"
rm "$memory"
start_server --log "$dir" --log-segment 1M "${both[@]}"
is kept third
end_server KILL
start_server --warm "$memory"
is kept third
expect 0 put kept fourth
end_server KILL
[[ ! -e $memory.tail ]] || fail 'a server without a log left the tail of one'
refused 'memory that went on without the log' 3 'not served last with this --log' "${both[@]}"
# A log that begins beside memory gets all of it.
dir=$work/begun
start_server --log "$dir" --log-segment 1M "${both[@]}"
is kept fourth
end_server KILL
rm "$memory" "$memory.tail"
start_server --log "$dir" --log-segment 1M "${both[@]}"
is kept fourth
end_server TERM

# Damage where the log vouches for it.
dir=$work/damaged
start_server --log "$dir" --log-segment 2M
expect 0 put kept second
for size in 2M 8M; do  # so long that no snapshot is due
  end_server KILL
  start_server --log "$dir" --log-segment "$size"
done
end_server TERM
first=$dir/0.1.log
cp -a "$dir" "$work/copy"
flip "$first" 4104
refused 'a damaged batch' 3 'offset 4096'
rm -rf "$dir" && cp -a "$work/copy" "$dir"
flip "$first" 100
refused 'a damaged head' 3 '0.1.log'
rm -rf "$dir" && cp -a "$work/copy" "$dir"
mv "$dir/0.2.log" "$work/away"
refused 'a missing segment' 3 '0.2.log'
mkdir "$dir/0.2.log"
refused 'a folder for a file' 3 '0.2.log'
rmdir "$dir/0.2.log"
: > "$dir/0.2.log"
refused 'an empty file' 3 '0.2.log'
cp "$first" "$dir/0.2.log"
refused 'a file under another name' 3 '0.2.log'
cp "$work/away" "$dir/0.2.log"
start_server --log "$dir" --log-segment 1M
is kept second
end_server TERM

# A snapshot takes the place of the log before it, and is believed only when it is whole.
dir=$work/snapshots
start_server --log "$dir" --log-segment 1M
for i in {1..2000}; do printf 'key%d\tvalue %d\n' "$i" "$i"; done > "$work/items"
expect 0 load "$work/items"
restart KILL
expect 0 snapshot && shows 'snapshot of 2000 items'
[[ ! -e $dir/0.1.log && -e $dir/0.2.snapshot ]] || fail "not one snapshot: $(ls "$dir")"
ln "$dir/0.2.log" "$work/linked"
cp "$work/linked" "$work/copied"
restart KILL
expect 0 snapshot --json && is_json
[[ ! -e $dir/0.2.log ]] || fail 'the log before the second snapshot is there'
expect 0 load "$work/items"
cmp "$work/linked" "$work/copied" || fail 'a file that somebody has linked was written again'
expect 0 put key8 'after the snapshot'
expect 0 delete key7
restart KILL
is_absent key7
is key8 'after the snapshot'
is key2000 'value 2000'
end_server TERM
snapshot=$(echo "$dir"/0.*.snapshot)
rm -rf "$work/copy" && cp -a "$dir" "$work/copy"
flip "$snapshot" 4200
refused 'a damaged snapshot' 3 "$(basename "$snapshot")"
: > "$snapshot"
refused 'an empty snapshot' 3 "$(basename "$snapshot")"
rm "$snapshot"
mkdir "$snapshot"
refused 'a folder for a snapshot' 3 "$(basename "$snapshot")"
rmdir "$snapshot"
refused 'a missing snapshot' 3 '0.1.log'
rm -rf "$dir" && cp -a "$work/copy" "$dir"
start_server --log "$dir" --log-segment 1M
is key2000 'value 2000'
end_server TERM

# async acknowledges what is not durable yet; sync waits until it is.
dir=$work/async
durable() {
  expect 0 stats --json
  shows "\"log_pending_batches\": *$1[,}]"
}
start_server --log "$dir" --log-segment 1M --commit async --log-interval 1h
expect 0 put a Ada
durable 1
expect 0 sync && out ''
durable 0
expect 0 sync --json && is_json && shows '"seconds": *[0-9]'
restart KILL --commit async --log-interval 1h
is a Ada
end_server TERM
start_server
expect 3 sync && says 'this server keeps no log (plovd --log)' && out ''
expect 3 snapshot && says 'takes no snapshots'
end_server TERM

# With too little memory it says how much it takes, and starts with that.
dir=$work/large
head -c 1000000 /dev/zero > "$work/million"
start_server --log "$dir" --log-segment 1M --commit async
for i in {1..24}; do expect 0 put "large$i" - < "$work/million"; done
end_server TERM
status=0
timeout 60 "$plovd" --listen "$uri" --log-level off --memory 16M --log "$dir" 2> "$work/err" || status=$?
[[ $status == 3 ]] || fail "too little memory: status $status"
needed=$(sed -n 's/.* needs a larger --memory: \([0-9]*\) MiB or so$/\1/p' "$work/err")
[[ -n $needed ]] || fail "too little memory: $(cat "$work/err")"
start_server --log "$dir" --memory "${needed:-64}M"
expect 0 stats && shows '^items  *24$'
end_server TERM

# A folder that is none, or cannot be had.
dir=$work/file
: > "$dir"
refused 'a file for a folder' 3 "$dir"
dir=$work/none/at/all
refused 'no parent' 3 "$dir"
