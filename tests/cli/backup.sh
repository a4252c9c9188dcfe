#!/usr/bin/env bash
# plov backup of a log whose server writes and takes snapshots, plov restore, and a server on what comes of it.
# Called with the paths of plovd and plov.
# shellcheck source=tests/cli/common.sh
source "$(dirname "$0")/common.sh"
plovd=$(realpath "$plovd")
plov=$(realpath "$plov")
cd "$work"
dir=log

checksums() { find "$1" -type f ! -name '*.lock' -exec cksum {} + | sort; }
# serves FOLDER: a server starts on it; what it has is in $work/items, sorted.
serves() {
  start_server --log "$1" --log-segment 1M --shards 2
  expect 0 dump
  sort "$work/out" > "$work/items"
  end_server TERM
}
# holds COUNT: $work/items has key1 to that one, and no key without those before it. What moves may come twice.
holds() {
  sed -n 's/^key\([0-9]*\)\t.*/\1/p' "$work/items" | sort -n -u > "$work/numbers"
  [[ $(head -n "$1" "$work/numbers" | tail -n 1) == "$1" ]] || fail "not all of $1 keys: $(wc -l < "$work/numbers")"
}
# number NAME FILE: of a JSON object in each line.
number() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$2"; }

# Backups while a writer writes: what was acknowledged before each began is there.
start_server --log "$dir" --log-segment 1M --shards 2
touch go
# It says what was acknowledged behind each part. A long value makes the log go through its segments.
writer() {
  local i=0 long
  long=$(repeat v 500000)
  while [[ -e go ]]; do
    printf 'long%d\t%s\n' $((i / 300 % 4)) "$long" > part
    for _ in {1..300}; do printf 'key%d\t%d\n' $((++i)) $i; done >> part
    "$plov" load part > /dev/null 2>&1 || return 1
    echo "$i" > acknowledged.new && mv acknowledged.new acknowledged
  done
}
writer &
writing=$!
wait_for test -e acknowledged
for round in 1 2 3 4 5; do
  if ((round % 2 == 0)); then expect 0 snapshot --no-wait; fi
  cp acknowledged "before$round"
  expect 0 backup "$dir" "backup$round" && has_lines 2
  shows '^shard 0: .* operations\? in batches [0-9]* to [0-9]*, .*, up to version [0-9]*$'
  checksums "backup$round" > "sums$round"
done
# Snapshots and backups at the same time.
for _ in {1..10}; do "$plov" snapshot; done > snapshots 2>&1 &
snapping=$!
cp acknowledged before6
expect 0 backup "$dir" backup6 --json && is_json --json-lines && shows '"shard":1[,}]' && shows '"last_version":[1-9]'
checksums backup6 > sums6
wait "$snapping" && [[ $(grep -c '^snapshot of' snapshots) == 10 ]] || fail "snapshots: $(cat snapshots)"
# To another file system all is copied.
if [[ -d /dev/shm && -w /dev/shm && $(stat -c %d /dev/shm) != $(stat -c %d "$work") ]]; then
  far=$(mktemp -d /dev/shm/plov-backup.XXXXXX)
  cp acknowledged before7
  expect 0 backup "$dir" "$far" && has_lines 2
  expect 0 restore "$far" restored7
  rm -rf "$far"
fi
rm go
wait "$writing" || fail 'the writer failed'
for round in {1..6}; do
  [[ $(checksums "backup$round") == "$(cat "sums$round")" ]] || fail "backup$round was changed later"
  expect 0 log check "backup$round" && has_lines 2
  [[ -z $(find "backup$round" -type f ! -name '*.log' ! -name '*.snapshot') ]] || fail "other files in backup$round"
done
end_server TERM
for round in 1 4 6; do
  expect 0 restore "backup$round" "restored$round" && has_lines 2 && shows '^shard 1: all of it, up to version [0-9]*$'
  [[ -z $(find "restored$round" -type f -links +1) ]] || fail 'a restored file is shared'
  serves "restored$round"
  holds "$(cat "before$round")"
done
if [[ -e restored7 ]]; then serves restored7 && holds "$(cat before7)"; fi
[[ $(checksums backup4) == "$(cat sums4)" ]] || fail 'restore changed the backup'

# A server on the backup itself leaves what it shares with the other folder as it is.
before=$(checksums "$dir")
start_server --log backup6 --log-segment 1M --shards 2
for i in {1..3000}; do printf 'other%d\t%s\n' "$i" "$(repeat w 900)"; done > others
expect 3 restore backup6 elsewhere && says 'a plovd serves backup6'
expect 0 load others && expect 0 snapshot && expect 0 load others && expect 0 snapshot
end_server TERM
[[ $(checksums "$dir") == "$before" ]] || fail 'a server on the backup changed the first log'
serves "$dir" && ! grep -q ^other "$work/items" || fail 'items of the other server'
holds "$(cat before6)"

# Back to a version: of shard 0, and of both.
rm -rf "$dir"
start_server --log "$dir" --log-segment 1M --shards 2
for i in {1..60}; do printf 'key%d\told\n' "$i"; done > old && sed 's/old/new/' old > new
expect 0 load old && expect 0 backup "$dir" only_old
between=$(date -u +%Y-%m-%dT%H:%M:%S.%6N)
expect 0 load new && expect 0 delete key1
expect 0 backup "$dir" all
end_server TERM
start_server --log "$dir" --log-segment 1M --shards 2
repeat x 900000 > long && expect 0 put long - < long && expect 0 snapshot && expect 0 put later x
for _ in 1 2; do expect 0 put long - < long; done
expect 0 backup "$dir" snapped && shows 'shard 1: a snapshot of [0-9]* items, '
find snapped -name '*.log' -links +1 | grep -q . && find snapped -name '*.snapshot' -links +1 | grep -q . || fail 'nothing is linked'
end_server TERM
expect 0 log list all && cp "$work/out" list
# version SHARD COUNT: of the shard's so-manieth operation.
version() { awk -v shard="$1" '$1 == shard { print $3 }' list | sed -n "$2p"; }
for shard in 0 1; do
  count[shard]=$(awk -v shard="$shard" '$1 == shard && $4 == "put"' list | wc -l)
  old[shard]=$(version "$shard" $((count[shard] / 2)))
done
expect 0 restore all to_old --until-version "0:${old[0]}" --until-version "1:${old[1]}"
shows "^shard 0: up to batch [0-9]*, version ${old[0]}; left out: [1-9][0-9]* operations behind$"
expect 0 log check to_old && expect 0 log export to_old && sort "$work/out" | cmp -s - <(sort old) || fail 'not the old items'
serves to_old && cmp -s "$work/items" <(sort old) || fail 'a server has not the old items'
expect 0 restore all half --until-version "0:${old[0]}" --json && is_json --json-lines && shows '"operations_left_out":0'
serves half
grep -q 'new$' "$work/items" && grep -q 'old$' "$work/items" || fail 'one shard goes back'
# All shards as they were at a time, in any of its forms.
expect 0 restore all at_time --until-time "${between}Z" && shows '^shard 1: .* left out: [1-9][0-9]* operations behind$'
serves at_time && cmp -s "$work/items" <(sort old) || fail 'not the items of that time'
TZ=UTC expect 0 restore all at_local --until-time "${between/T/ }" && cmp at_time/1.1.log at_local/1.1.log
last=$(awk '$1 == 0 { last = $9 } END { print last }' list)
expect 0 restore all at_last --until-time "$last" && shows '^shard 0: all of it'
expect 0 restore all at_none --until-time @1 && shows '^shard 0: up to batch 0, version 0'
expect 3 restore snapped early --until-time "${between}Z" && says 'that time lies before .* had is Unix time [0-9]*$'
# Each shard has its own least, in whole seconds; the first that refuses is named.
for _ in 0 1; do
  least=$(grep -o '[0-9]*$' "$work/err")
  run restore snapped at_least --until-time "@$least"
  ((status == 0)) && break
done
check_status 0 restore snapped at_least --until-time "@$least"
for text in '' now 2026-11-25 2026-11-25T20:15 2026-02-30T00:00:00 2026-11-25T20:15:30.Z @ @1x 2026-11-25T20:15:30+01; do
  expect 2 restore all x --until-time "$text" && says 'is not a time'
done
# In the midst of a batch; versions that are given out later lie beyond those that were.
expect 0 restore all one --until-version "0:$(version 0 1)" --until-version 1:0
start_server --log one --log-segment 1M --shards 2
expect 0 dump && has_lines 1
expect 0 put key2 again --json
most=$(awk -v shard="$(awk '$5 == "key2" { print $1; exit }' list)" '$1 == shard { most = $3 } END { print most }' list)
(($(number version "$work/out") > most)) || fail 'a version comes again'
end_server TERM
expect 0 restore all whole --until-version 0:18446744073709551615 && shows '^shard 0: all of it'
expect 3 restore snapped early --until-version "0:$(version 0 1)"
says 'shard 0: version [0-9]* lies before what its snapshot needs: the least that can be had is [0-9]*$'
[[ ! -e early ]] || fail 'a folder was made'
least=$(grep -o '[0-9]*$' "$work/err")
expect 3 restore snapped early --until-version "0:$((least - 1))"
expect 0 restore snapped early --until-version "0:$least" && expect 0 log check early
expect 3 restore all x --until-version 7:1 && says 'no files of shard 7'
for text in 7 7: :7 x:1 1:x 1:2:3 '' -1:1 1:-1 4294967296:1; do
  expect 2 restore all x --until-version "$text" && says 'is not SHARD:VERSION'
done
expect 2 restore all x --until-version 1:2 --until-version 1:3 && says 'shard 1 has two'
expect 2 backup all x --until-version 1:2 && says 'not an option of backup'
[[ ! -e x ]] || fail 'a folder was made'

# Targets and folders that will not do.
mkdir empty full && : > full/file && : > file
expect 3 backup "$dir" full && says 'full is not empty: name a folder that is not there'
expect 3 restore all full && says 'full is not empty'
expect 3 backup "$dir" file && says 'file: this is not a folder' && expect 3 restore all file && says 'not a folder'
expect 3 backup "$dir" "$dir" && says 'is not empty'
expect 3 backup "$dir" none/at/all && says 'none/at' && expect 3 restore all none/at/all && says 'none/at'
expect 3 backup none x && says 'none: .*No such file' && expect 3 restore none x && says 'none: .*No such file'
expect 3 backup empty x && says 'empty: there is no log' && expect 3 restore empty x && says 'empty: there is no log'
[[ ! -e x ]] || fail 'a folder was made'
expect 2 backup && expect 2 backup a && expect 2 backup a b c && says 'usage: plov backup DIR TARGET'
expect 2 restore && expect 2 restore a b c && says 'usage: plov restore TARGET DIR'
expect 0 backup "$dir" empty && expect 0 log check empty
start_server --log half --log-segment 1M --shards 2
expect 3 restore all half && says 'a plovd serves half'
end_server TERM

# No room, no permission; nothing is left.
limited() {
  status=0
  (trap '' XFSZ && ulimit -f 5 && exec "$plov" "$@") > "$work/out" 2> "$work/err" || status=$?
  ((status == 3)) || fail "plov $* under a limit ends with $status"
}
for command in backup restore; do
  limited $command all small && says 'cannot write'
  [[ ! -e small || -z $(ls -A small) ]] || fail "$command leaves files: $(ls small)"
done
as_user=()
if ((EUID == 0)) && setpriv --reuid=65534 --regid=65534 --clear-groups "$plov" --version > /dev/null 2>&1; then
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 755 "$work"
fi
if ((EUID != 0 || ${#as_user[@]} > 0)); then
  mkdir closed && chmod 500 closed && chmod 700 all
  root_plov=$plov
  plov=$work/plov_as_user
  printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${as_user[*]}" "$root_plov" > "$plov" && chmod 755 "$plov"
  if ((EUID == 0)); then expect 3 backup all /tmp/none-of-it && says 'Permission denied'; fi
  expect 3 backup all closed/x && says 'Permission denied' && expect 3 restore all closed/x && says 'Permission denied'
  plov=$root_plov
fi

# A damaged backup is not restored, a damaged log not backed up.
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  # shellcheck disable=SC2059
  printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
cp -a all broken && flip broken/0.1.log 4200
expect 3 restore broken y && says 'it is damaged: broken/0.1.log at offset 4096' && [[ ! -e y ]] || fail 'a damaged backup'
expect 3 backup broken z && says 'damaged\|not whole' && [[ -z $(ls -A z) ]] || fail 'a damaged log'
