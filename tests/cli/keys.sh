#!/usr/bin/env bash
# exists, touch, scan and flush: without a race, against other writers, and when the server fails.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

sorted() { LC_ALL=C sort "$work/out"; }
# is_sorted TEXT: the lines that the last run printed are these, in any order (with printf's escapes).
is_sorted() {
  # shellcheck disable=SC2059
  printf "$1" | cmp -s - <(sorted) || fail "stdout is not, in any order, '$1'"
}
# number NAME: of the object that the last run printed.
number() { grep -o "\"$1\":[0-9]*" "$work/out" | tr -dc '0-9'; }

start_server --shards 2

# exists
expect 0 put a 1 && expect 0 put b '' && expect 0 put $'new\nline\t' ''
expect 0 exists a && out '' && expect 0 exists a b $'new\nline\t' a && out ''
for words in none 'a none b'; do
  # shellcheck disable=SC2086
  run exists $words
  ((status == 1)) && [[ ! -s $work/out && ! -s $work/err ]] || fail "exists $words says nothing, and 1"
done
run exists --json b none $'new\nline\t'
((status == 1)) || fail "one is not there"
out '{"key":"b","found":true}\n{"key":"none","found":false}\n{"key":"new\\nline\\t","found":true}\n'
expect 2 exists && expect 2 exists a '' && says '0 bytes' && expect 2 exists "$(repeat k 1025)"
mapfile -t many < <(seq 1000)
run exists "${many[@]}" a
((status == 1)) || fail "of many keys one is there"

# touch
head -c 1048576 /dev/urandom > "$work/value"
expect 0 put large - --flags 7 --ttl 1h < "$work/value" && expect 0 get large --json
old=$(number version)
(($(number expiry) > 0)) || fail "an expiry"
expect 0 touch large && out '' && expect 0 get large --json && shows '"flags":7,"expiry":0}'
(($(number version) > old)) || fail "another version"
expect 0 touch large --ttl 24h --json && is_json && touched=$(number version)
expect 0 get large --json && [[ $(number version) == "$touched" ]] || fail "its version"
(($(number expiry) > $(date +%s) + 20 * 3600)) || fail "a later expiry"
expect 0 get large && head -c -1 "$work/out" | cmp -s - "$work/value" || fail "the value stays"
expect 1 touch none && says "no item has the key 'none'"
expect 2 touch && expect 2 touch a b && expect 2 touch a --ttl 0 && expect 2 touch a --flags 1
expect 2 touch '' && expect 0 delete large
gone() {
  run get a
  ((status == 1))
}
expect 0 touch a --ttl 1s && wait_for gone

# No value is lost to it: the only writer of values reads its own back, 20,000 times.
seq 20000 > "$work/values"
sed 's/.*/put counter &\nget counter/' "$work/values" | "$plov" shell > "$work/read" &
writer=$!
touch_it() { for ((i = 0; i < $1; ++i)); do echo "touch counter --ttl 1h"; done | "$plov" shell; }
wait_for "$plov" exists counter
while kill -0 "$writer" 2> /dev/null; do touch_it 1000 || fail "touch beside a writer"; done
wait "$writer" || fail "the writer"
cmp -s "$work/values" "$work/read" || fail "a value was lost to a touch"
touch_it 1 && expect 0 get counter && out '20000\n'

# scan
expect 0 flush --yes && shows '^deleted [0-9]* items in [0-9.]* s ([0-9]*/s)$' && expect 0 scan && out ''
expect 0 put a 1 --ttl 1h --flags 3 && expect 0 put ab $'2\t\n' && expect 0 put b '\'
expect 0 put $'a\\\n\t' 4 && expect 0 put $'\xff' 5
expect 0 scan && is_sorted 'a\na\\\\\\n\\t\nab\nb\n\xff\n'
expect 0 scan a && is_sorted 'a\na\\\\\\n\\t\nab\n' && expect 0 scan $'a\\\n' && out 'a\\\\\\n\\t\n'
expect 0 scan $'\xff' && out '\xff\n' && expect 0 scan zz && out '' && expect 0 scan "$(repeat k 2000)"
expect 0 scan --values ab && out 'ab\t2\\t\\n\n' && expect 0 scan --values
cp "$work/out" "$work/scan"
expect 0 dump
LC_ALL=C sort "$work/scan" | cmp -s - <(sorted) || fail "scan --values is dump"
expect 0 scan '' --json && is_json --json-lines && has_lines 5 && shows '"key_base64":"/w==","version":[0-9]*,'
expect 0 scan --json ab && shows '^{"key":"ab","version":[0-9]*,"flags":0,"expiry":0}$'
expect 0 scan --json --values b && shows '^{"key":"b","value":"\\\\","version":[0-9]*,"flags":0,"expiry":0}$'
expect 2 scan a b && expect 2 dump --values && expect 2 scan --yes

# flush: only what starts with the prefix; never without a question or --yes.
run flush < /dev/null
check_status 2 flush && says 'is not a terminal' && says '\-\-yes' && expect 0 scan && has_lines 5
expect 2 flush a b --yes && expect 2 delete a --yes
expect 0 flush a --yes && shows '^deleted 3 items in ' && expect 0 scan && is_sorted 'b\n\xff\n'
expect 0 flush --yes --json none && is_json && shows "^{\"server\":\"$uri\",\"deleted\":0,\"seconds\":"
python3 -c '
for i in range(100000): print(f"{i % 7}:{i}\t" + "v" * (i % 100))' > "$work/lines"
expect 0 load "$work/lines" && expect 0 scan && has_lines 100002
expect 0 scan 3: && has_lines 14286
expect 0 flush 3: --yes --json && shows '"deleted":14286,' && expect 0 scan 3: && out ''

has_no_items() { "$plov" scan | cmp -s - /dev/null; }

# The question, on a terminal: what it names, and which answers are yes.
answer() { # ANSWER WORD...
  timeout 100 python3 -c '
import os, pty, sys
answer = sys.argv[1].encode().decode("unicode_escape").encode()
seen = b""
def read(fd):
    global seen
    data = os.read(fd, 65536)
    seen += data
    if b"[y/N] " in seen and data:
        os.write(fd, answer)
        seen = b""
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:], read, lambda fd: b"")))' \
    "$1" "$plov" "${@:2}" > "$work/out" 2> "$work/err" < /dev/null || status=$?
}
for no in 'n\n' '\n' 'yy\n' 'no y\n' 'yesyesyesyesyesyesyes\n' '\x04'; do
  status=0
  answer "$no" flush
  ((status == 3)) || fail "'$no' ended with $status"
  shows "^Delete all 85,716 items of $uri? \[y/N\] " && shows 'nothing was deleted'
done
expect 0 scan && has_lines 85716
for yes in 'y\n' 'YES\n'; do
  expect 0 load - <<< $'q\e:\tv'
  status=0
  answer "$yes" flush $'q\e:'
  ((status == 0)) || fail "'$yes' ended with $status"
  shows "^Delete the one item of $uri that starts with 'q\\\\x1b:'? \[y/N\] " && shows 'deleted 1 item in'
done
expect 0 scan && has_lines 85716

# Later, every item: flush does not wait for it.
expect 2 flush 3: --yes --delay 1s && expect 2 flush --yes --delay 100ms && expect 2 get 3:3 --delay 1s
expect 0 flush --yes --delay 1s && out '' && wait_for has_no_items && expect 0 load "$work/lines"

# Writers do not keep a flush from its end; what it leaves is theirs.
write_on() {
  local i=0
  while "$plov" put "busy$((++i % 50))" v; do :; done
}
write_on & writer=$!
wait_for "$plov" exists busy49
run flush --yes
((status == 0)) || fail "flush beside a writer ended with $status"
kill "$writer"
wait "$writer" 2> /dev/null || true
expect 0 scan && ! grep -qv '^busy' "$work/out" || fail "only what was written meanwhile stays"
expect 0 flush --yes

# A server that is stopped, or dies, in the middle of a scan or a flush.
mkfifo "$work/fifo"
expect 0 load "$work/lines"
timeout 100 "$plov" scan --values > "$work/fifo" 2> "$work/err" &
scanner=$!
exec 3< "$work/fifo"
head -c 1000 <&3 > "$work/out" # a part: the pipe is full and scan waits
pause_server
cat <&3 >> "$work/out"
exec 3<&-
wait "$scanner" || fail "scan of a stopped server"
has_lines 100000
for words in 'exists 0:0' 'touch 0:0' scan 'flush --yes'; do
  # shellcheck disable=SC2086
  expect 3 --timeout 300ms $words
done
kill -CONT "$server"
end_server KILL
for words in 'exists a' 'touch a' scan 'flush --yes'; do
  # shellcheck disable=SC2086
  expect 3 $words && says 'no server on'
done

# In the middle of a flush, which each of its batches keeps waiting for the disk. A try comes too late where
# it has ended before it was seen.
deleting() { ! "$plov" stats --json | grep -q '"total":{"items":100000,'; }
flush_meets() { # COMMAND...
  local tries
  for ((tries = 0; tries < 20; ++tries)); do
    expect 0 load "$work/prefixed"
    timeout 100 "$plov" --timeout 1s flush --yes x > "$work/out" 2> "$work/err" &
    local flusher=$!
    while ! deleting; do :; done
    "$@"
    status=0
    wait "$flusher" || status=$?
    ((status == 0)) || break
    end_server KILL
    start_server --log "$work/log"
  done
  check_status 3 flush && shows '^deleted [0-9]* items in '
}
sed 's/^/x/' "$work/lines" > "$work/prefixed"
start_server --log "$work/log"
flush_meets pause_server && says 'no answer within the deadline'
kill -CONT "$server"
expect 0 flush --yes && expect 0 scan && out ''
flush_meets end_server KILL && says 'the server went away meanwhile: flush again\|no server on'
start_server --log "$work/log"
expect 0 flush --yes && expect 0 scan && out ''
end_server TERM
