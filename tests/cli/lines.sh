#!/usr/bin/env bash
# load and dump: what one writes the other reads, whatever the bytes; bad lines are named.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

start_server --shards 2

# Binary keys and values: every byte, empty values, long ones, in sizes around the limits.
python3 - "$work" << 'END'
import random, sys
random.seed(1)
escape = lambda b: b.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")
items = {bytes([i]): bytes([255 - i]) for i in range(256)}
items[bytes(range(256)) * 4] = bytes(range(256)) * 300
items[b"\\" * 1024] = b"\n" * (1 << 20)
items[b"\\t"] = b"\t\\n\r\n\\"
for i in range(5000):
    items[random.randbytes(random.randint(5, 40))] = random.randbytes(random.randint(0, 300))
lines = sorted(escape(k) + b"\t" + escape(v) + b"\n" for k, v in items.items())
open(sys.argv[1] + "/lines", "wb").write(b"".join(lines))
END
count=$(wc -l < "$work/lines")
expect 0 load "$work/lines" && shows "^stored $count items in [0-9.]* s ([0-9]*/s)$"
expect 0 dump && has_lines "$count"
cp "$work/out" "$work/dump"
LC_ALL=C sort "$work/dump" | cmp -s - "$work/lines" || fail "dump is not what was loaded"
end_server TERM
start_server
expect 0 --json load - < "$work/dump" && is_json && shows "\"stored\":$count,\"left_out\":0"
expect 0 dump && LC_ALL=C sort "$work/out" | cmp -s - "$work/lines" || fail "load of a dump"
expect 0 dump --json && is_json --json-lines && has_lines "$count"

# As JSON, an item keeps its flags and expires when it would have.
expect 0 put "$(printf '\377key')" "$(printf '\001\376')" --flags 7 --ttl 1h
brief_is_dumped() {
  expect 0 put brief moment --ttl 2s
  expect 0 dump --json && grep -q '"brief"' "$work/out"
}
wait_for brief_is_dumped # a slow machine may come to its line too late
LC_ALL=C sort "$work/out" > "$work/json"
end_server TERM
start_server
sleep 3.1 # a time to live ends up to a second later than was asked for
expect 0 load --json-lines "$work/json" && shows "^stored $((count + 1)) items .*, 1 had expired$"
grep -v '"brief"' "$work/json" > "$work/kept"
expect 0 dump --json
python3 - "$work/kept" "$work/out" << 'END' || fail "load --json-lines of a dump"
import json, sys
def items(path):
    lines = [json.loads(line) for line in open(path)]
    return {l.get("key") or l["key_base64"]: (l.get("value", l.get("value_base64")), l["flags"],
            l["expiry"]) for l in lines}
old, new = items(sys.argv[1]), items(sys.argv[2])
assert old.keys() == new.keys()
for key, (value, flags, expiry) in old.items():
    assert new[key][:2] == (value, flags), key
    assert abs(new[key][2] - expiry) <= 1, (key, expiry, new[key])
assert sum(1 for item in new.values() if item[1] == 7 and item[2] > 0) == 1
END
cat > "$work/lines.json" << 'END'
{"key":"a","value":"1"}
{"key":"b","value":"1","key_base64":"Yg=="}
{"key":"c"}
{"key":"d","value":1}
["e"]
{"key":"f","value":"1","flags":-1}
{"key":"g","value":"1","expires":1}
{"key":"","value":"1"}
{"key":"h","value_base64":"x"}
{"key":"i","value":"1"
END
run load --json-lines "$work/lines.json"
((status == 3)) || fail "ended with $status"
shows '^stored 1 item ' && says ':3: there must be one of value and value_base64' && says '9 lines were left out'

# Lines that are no item are named with their number; the others are stored.
end_server TERM
start_server --max-value 64K
{
  printf 'one\t1\n'       # 1
  printf 'no tab\n'       # 2
  printf '\n'             # 3
  printf '\tempty key\n'  # 4
  printf '%s\tlong key\n' "$(repeat k 1025)"
  printf 'bad\\x\tv\n'    # 6
  printf 'bad\tv\\\n'     # 7
  printf 'limit\t%s\n' "$(repeat v 65537)"
  printf 'two\t2\r\n'     # 9
  printf '%s\tv\n' "$(repeat '\134' 2048)"
  repeat x 40000000; echo # 11
  printf 'three\ta\tb'    # 12
} > "$work/lines"
run load "$work/lines"
((status == 3)) || fail "ended with $status"
shows '^stored 4 items'
sed "s|plov: load: $work/lines:||" "$work/err" > "$work/told"
cat > "$work/wanted" << 'END'
2: no tab between key and value
3: no tab between key and value
4: the key is empty
5: the key has 1025 bytes, at most 1024 are possible
6: '\x' in the key is not an escape (\t, \n and \\ are)
7: '\' in the value is not an escape (\t, \n and \\ are)
11: the line is longer than any item
8: the value is over the server's --max-value
plov: load: 8 lines were left out: mend and load them again
END
LC_ALL=C sort "$work/wanted" | cmp -s - <(LC_ALL=C sort "$work/told") || fail "what was told"
expect 0 get one && out '1\n' && expect 0 get two && out '2\r\n' && expect 0 get three && out 'a\tb\n'
expect 0 get "$(repeat '\134' 1024)" && out 'v\n'
expect 0 stats --json && is_json && shows '"total":{"items":4,'

# The first twenty are told, then their count.
{
  for ((i = 1; i <= 50; ++i)); do echo "bad line"; done
  printf 'good\tg\n'
} > "$work/lines"
run load - < "$work/lines"
((status == 3)) && [[ $(wc -l < "$work/err") == 21 ]] || fail "21 lines on stderr"
says 'standard input:20: no tab' && says '50 lines were left out, 30 of them not shown'
expect 0 get good && out 'g\n'

# Lines are stored as they come, in order, and the file is not read into memory.
mkfifo "$work/fifo"
timeout 100 "$plov" load "$work/fifo" > "$work/out" &
loader=$!
exec 3> "$work/fifo"
printf 'slow\t1\nslow\t2\nhalf' >&3
slow_is_two() { [[ $("$plov" get slow) == 2 ]]; }
wait_for slow_is_two
printf ' line\tw' >&3
exec 3>&-
wait "$loader" || fail "load from a pipe"
shows '^stored 3 items' && expect 0 get 'half line' && out 'w\n'

expect 0 load /dev/null && shows '^stored 0 items'
expect 3 load "$work" && says 'Is a directory'
end_server TERM

# A full server: what was stored stays, and the line is named.
start_server --memory 16M
python3 -c '
for i in range(100000): print(f"{i}\t" + "v" * 1000)' > "$work/lines"
expect 3 load "$work/lines" && says "stopped at $work/lines:[0-9]*: the server is full"
stored=$(sed 's/stored \([0-9]*\) items.*/\1/' "$work/out")
expect 0 dump && ((stored > 1000)) && has_lines "$stored"
end_server TERM

# Progress is for terminals. It is fed lines until it has shown some.
if command -v script > /dev/null; then
  start_server
  script -qefc "timeout 100 '$plov' load '$work/fifo'" "$work/out" > /dev/null < /dev/null &
  loader=$!
  exec 3<> "$work/fifo" # does not wait for a loader that failed to start
  fed=0
  progress_is_shown() {
    printf '%s\tv\n' $((++fed)) >&3
    grep -q 'items, .*/s' "$work/out"
  }
  wait_for progress_is_shown
  exec 3>&-
  wait "$loader" || fail "load at a terminal"
  shows "stored $fed item"
  end_server TERM
fi
