#!/usr/bin/env bash
# plov log: what is read, listed, copied and saved of a log that no server uses, whole and damaged.
# Called with the paths of plovd and plov.
# shellcheck source=tests/cli/common.sh
source "$(dirname "$0")/common.sh"
plovd=$(realpath "$plovd")
plov=$(realpath "$plov")
cd "$work"
dir=log
new=new

# flip FILE OFFSET
flip() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  # shellcheck disable=SC2059
  printf "\\x$(printf %x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# fresh: the log as the server left it.
fresh() {
  rm -rf "$dir" "$new"
  cp -a "$work/whole" "$dir"
}
checksums() { find "$1" -type f -exec cksum {} + | sort; }
# has KEY... / lacks KEY...: the last run's output does, of items.
is_there() { cut -f 1 "$work/out" | grep -xF -e "$1" > /dev/null; }
has() { for key; do is_there "$key" || fail "no item $key"; done; }
lacks() { for key; do ! is_there "$key" || fail "there is an item $key"; done; }
# serves FOLDER ITEMS: a server starts on it and has the items of a file, sorted.
serves() {
  start_server --log "$1" --log-segment 1M --shards "${3:-2}"
  expect 0 dump
  sort "$work/out" | cmp -s - "$2" || fail "other items on $1: $(sort "$work/out" | diff - "$2" | head -3)"
  end_server TERM
}

# Two shards; keys that need escapes, a long value, deletes, a life time, flags.
start_server --log "$dir" --log-segment 8M --shards 2
for key in {a..p}; do expect 0 put "$key" "first $key"; done  # so many that each shard has some
for key in a b c d; do expect 0 put "$key" "second $key"; done
expect 0 delete d
expect 0 put $'tab\tkey\\' $'line\nbreak'
expect 0 put long - < <(repeat x 3000000)
expect 0 put short life --ttl 1s
expect 0 put flagged it --flags 7
expect 3 log check "$dir" && says "a plovd serves $dir: stop it first, or copy the folder"
for command in list export salvage; do expect 3 log $command "$dir" && says 'stop it first'; done
expect 3 log cut "$dir" "$new" && says 'stop it first'
[[ ! -e $new ]] || fail 'a folder was made'
sleep 2.1
expect 0 dump && sort "$work/out" > "$work/items"
end_server TERM
cp -a "$dir" "$work/whole"

# A whole log, also in a folder that cannot be written.
before=$(checksums "$dir")
expect 0 log check "$dir" && has_lines 2
shows '^shard 0: 1 segment, 0 snapshots, batches 1 to [0-9]*, [0-9]* operations, versions [0-9]* to [0-9]*: whole$'
expect 0 log check "$dir" --json && is_json --json-lines && shows '"verdict":"whole"'
expect 0 log export "$dir" && sort "$work/out" | cmp -s - "$work/items" || fail 'export is not what dump was'
cp "$work/out" "$work/exported"
expect 0 log export "$dir" --json && is_json --json-lines && shows '"key":"flagged".*"flags":7'
expect 0 log salvage "$dir" && sort "$work/out" | cmp -s - "$work/items" || fail 'salvage is not what dump was'
expect 0 log list "$dir" && has_lines 25
shows $'^[01]\t[0-9]*\t[0-9]*\tput\ttab\\\\tkey\\\\\\\\\t10\t0\t0\t2[^\t]*Z$'
shows $'^[01]\t[0-9]*\t[0-9]*\tdelete\td\t0\t0\t0\t2[^\t]*Z$'
shows $'^[01]\t[0-9]*\t[0-9]*\tput\tshort\t4\t0\t[1-9][0-9]*\t2[^\t]*Z$'
expect 0 log list "$dir" --shard 1 --json && is_json --json-lines && ! grep -q '"shard":0' "$work/out"
[[ $(checksums "$dir") == "$before" ]] || fail 'files were changed'
if ((EUID == 0)); then chmod 500 "$dir"; else chmod -R a-w "$dir"; fi
expect 0 log check "$dir" && expect 0 log export "$dir"
chmod -R u+w "$dir"
expect 0 log cut "$dir" "$new" && shows '^shard 1: all of it$'
serves "$new" "$work/items"

# Into a server with other shards.
rm -rf "$new"
start_server --log "$new" --log-segment 1M --shards 3 --bucket-bytes 128
expect 0 load "$work/exported"
end_server TERM
serves "$new" "$work/items" 3

# A torn tail: what was written to the end of a log whose server was killed, and is not whole.
fresh
start_server --log "$dir" --log-segment 8M --shards 2
expect 0 put torn x
end_server KILL
cp -a "$dir" "$work/killed"
expect 0 log list "$dir" && read -r shard _ < <(grep -P '\ttorn\t' "$work/out")
at=$(grep -abo torn "$dir/$shard.2.log" | cut -d : -f 1)
begin=$((at / 4096 * 4096))
flip "$dir/$shard.2.log" "$at"
truncate -s $((begin + 4096)) "$dir/$shard.2.log" # what says that it was durable was not written
truncate -s 8M "$dir/$shard.2.log"
expect 1 log check "$dir" && says 'the tail of 1 shard is torn'
shows "^shard $shard: .*: torn tail of 4096 bytes at offset $begin of $dir/$shard.2.log, which the next start cuts$"
expect 1 log check "$dir" --json && is_json --json-lines && shows "\"torn\":{\"file\":\"log/..2.log\",\"offset\":$begin,\"bytes\":4096}"
expect 0 log export "$dir" && sort "$work/out" | cmp -s - "$work/items" || fail 'a torn tail is left out'
run log salvage "$dir"
[[ $status == 1 ]] && says 'is torn' && lacks torn || fail 'salvage of a torn tail'
expect 0 log cut "$dir" "$new"
serves "$new" "$work/items"

# Damage: the batch of the second operation of shard 0. A batch of one operation, and one that says
# only that what is before it is durable, has a page.
second_batch() { "$plov" log list "$dir" --shard "$1" | awk -F '\t' 'NR == 2 {print $2}'; }
fresh
expect 0 log list "$dir" --shard 0
mapfile -t keys < <(cut -f 5 "$work/out")
batch=$(second_batch 0)
begin=$((4096 * batch))
flip "$dir/0.1.log" $((begin + 108))
expect 3 log check "$dir" && says "1 of 2 shards damaged; nothing was changed: .*plov log cut $dir NEWDIR"
shows "^shard 0: .*: DAMAGE: $dir/0.1.log at offset $begin: batch $batch is not whole"
shows '^shard 1: .*: whole$'
expect 3 log check "$dir" --json && is_json --json-lines && shows "\"damages\":\[{\"file\":\"log/0.1.log\",\"offset\":$begin"
expect 3 log list "$dir" && says "at offset $begin" && has_lines 1
expect 3 log export "$dir" && says "at offset $begin" && out ''
run log salvage "$dir"
[[ $status == 1 ]] && says "skipped: shard 0: batch $batch is lost" || fail "salvage of damage: $status"
for key in a b c "${keys[2]}" "${keys[-1]}"; do
  [[ $key == d || $key == short ]] || has "$key"  # these two are gone
done
cp "$work/out" "$work/saved"
expect 0 log cut "$dir" "$new" && shows "^shard 0: up to batch $((batch - 1)), .*; lost: [0-9]* whole operations behind"
expect 0 log check "$new"
expect 0 log export "$new" && has "${keys[0]}" && lacks "${keys[1]}"
sort "$work/out" > "$work/before"
serves "$new" "$work/before"
expect 3 log cut "$dir" "$new" && says 'is not empty'
rm -rf "$new"
start_server --log "$new" --log-segment 1M
expect 0 load "$work/saved"
expect 0 dump && sort "$work/out" | cmp -s - <(sort "$work/saved") || fail 'what was saved is not loaded'
end_server TERM

# Both shards; a file cut short, empty, a folder, a pipe, under another's name, gone.
flip "$dir/1.1.log" $((4096 * $(second_batch 1) + 108))
expect 3 log check "$dir" && says '2 of 2 shards damaged'
rm -rf "$new" && expect 0 log cut "$dir" "$new" && expect 0 log check "$new"
odd() {
  local what=$1
  expect 3 log check "$dir" && shows "DAMAGE: .*$2" || fail "$what"
  expect 3 log export "$dir" && out '' || fail "$what"
  run log salvage "$dir"
  ((status == 1)) || fail "$what: salvage ends with $status"
  has "${@:3}"
}
fresh && truncate -s $((begin + 4096)) "$dir/0.1.log"
odd 'cut short' 'the file is shorter' "${keys[0]}"
expect 0 log cut "$dir" "$new" && expect 0 log export "$new" && has "${keys[0]}" "${keys[1]}"
fresh && : > "$dir/0.1.log"
odd 'an empty file' '0.1.log'
expect 3 log cut "$dir" "$new" && says 'see what plov log salvage finds'
[[ ! -e $new ]] || fail 'a folder was made'
fresh && rm "$dir/0.1.log" && mkdir "$dir/0.1.log"
odd 'a folder' 'not a regular file'
fresh && rm "$dir/0.1.log" && mkfifo "$dir/0.1.log"
odd 'a pipe' 'not a regular file'
fresh && mv "$dir/0.1.log" t && mv "$dir/1.1.log" "$dir/0.1.log" && mv t "$dir/1.1.log"
odd 'files of other shards' 'its head says' a b c flagged
sort "$work/out" | cmp -s - "$work/items" || fail 'files under other names are read by what they say'
fresh && rm "$dir"/0.*
odd 'no file of a shard' 'all files of shard 0 are missing'
expect 3 log cut "$dir" "$new" && says 'all files of shard 0 are missing'
rm -rf "$dir" && cp -a "$work/killed" "$dir" && rm "$dir/0.1.log"
odd 'the first segment' '0.1.log.*missing'
fresh && flip "$dir/0.1.log" 100
odd 'a damaged head' 'its head fails its checksum'

# A snapshot, alone, and one that is damaged.
fresh && cp "$dir/0.1.log" "$dir/0.1.snapshot"
expect 3 log check "$dir" && shows 'DAMAGE: .*0.1.snapshot at offset 0: this is another kind of file' && shows 'a server goes on all the same'
expect 0 log export "$dir" && sort "$work/out" | cmp -s - "$work/items" || fail 'without the snapshot'
expect 0 log cut "$dir" "$new" && expect 0 log check "$new"
rm "$dir"/?.1.log
expect 3 log check "$dir" && expect 3 log export "$dir" && expect 3 log cut "$dir" new2

# A server's own snapshot: its items, and what is left of them when it is damaged.
rm -rf "$dir" "$new"
start_server --log "$dir" --log-segment 1M
for key in a b c; do expect 0 put "$key" old; done
expect 0 snapshot
expect 0 put c new && expect 0 delete b
expect 0 dump && sort "$work/out" > "$work/items"
end_server TERM
expect 0 log check "$dir" && shows '^shard 0: .* 1 snapshot, .*: whole$'
expect 0 log list "$dir" --snapshot && shows $'^0\tsnapshot:[0-9]*\t[0-9]*\tput\tb\t3\t0\t0\t-$' && shows $'\tdelete\tb\t'
expect 0 log list "$dir" --snapshot --json && is_json --json-lines && shows '"snapshot":[0-9]'
expect 0 log list "$dir" && ! grep -q snapshot "$work/out" || fail 'snapshots that were not asked for'
for command in export salvage; do
  expect 0 log $command "$dir" && sort "$work/out" | cmp -s - "$work/items" || fail "$command of a snapshot"
done
expect 0 log cut "$dir" "$new"
serves "$new" "$work/items" 1
flip "$(echo "$dir"/0.*.snapshot)" 50
expect 3 log check "$dir" && shows 'DAMAGE: .*snapshot'
run log salvage "$dir"
((status == 1)) && sort "$work/out" | cmp -s - "$work/items" || fail "its blocks are whole: $status"

# Nothing that is a log; command lines.
mkdir empty && : > file
for command in check list export salvage; do
  expect 3 log $command none && says 'none: .*No such file'
  expect 3 log $command file && says 'file: this is not a folder'
  expect 3 log $command empty && says 'empty: there is no log in this folder'
  expect 2 log $command && says "usage: plov log $command DIR"
  expect 2 log $command a b
done
expect 3 log cut empty "$new" && expect 2 log cut empty && says 'usage: plov log cut DIR NEWDIR'
expect 2 log && expect 2 log chek x && says "did you mean 'check'"
expect 2 log check x --shard 1 && says 'options of log list' && expect 2 log list x --shard x
fresh
expect 3 log list "$dir" --shard 9 && says 'no files of shard 9'
expect 3 log cut "$dir" none/at/all && says 'none/at'
status=0
"$plov" log export "$dir" > /dev/full 2> "$work/err" || status=$?
[[ $status == 3 ]] && says 'No space left' || fail 'a full disk'

# doctor --log: before the first start and after it; no file stays.
run doctor --log "$work/later" && shows "^ok       log folder: $work/later is made at the first start, in $work"
before=$(checksums "$dir")
run doctor --log "$dir" && shows '^[a-zO-R]*  *log file system: ' && shows 'log space: ' && shows 'log commits: 4 KiB durable in [0-9]* us'
[[ $(checksums "$dir") == "$before" ]] || fail 'doctor leaves something in the folder'
run doctor --log "$work/file" && shows '^PROBLEM  log folder: .*is not a folder'
run doctor --log "$work/none/at/all" && shows '^PROBLEM  log folder: .*No such file' && shows "mend: mkdir -p $work/none/at"
check_status 3 'doctor --log none/at/all'
run doctor --log /dev/shm && shows '^note     log file system: .*in memory (tmpfs)'
expect 2 doctor --log= && expect 2 ping --log x && says 'not an option of ping'
