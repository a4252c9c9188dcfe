#!/usr/bin/env bash
# get, put, delete and mget, with their options and exit statuses.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

start_server

expect 0 put a Ada && out ''
expect 0 get a && out 'Ada\n'
expect 0 get a --json && shows '^{"key":"a","value":"Ada","version":[0-9]*,"flags":0,"expiry":0}$'
expect 0 put a Eve && out ''
expect 0 get a && out 'Eve\n'
expect 1 get nothing && out '' && says "no item has the key 'nothing'"
expect 1 get nothing --json && out '{"key":"nothing","found":false}\n'
expect 0 put empty '' && expect 0 get empty && out '\n'

# Values and keys that look like something else.
expect 0 put number -5 && expect 0 get number && shows '^-5$'
expect 0 put -- --key --value && expect 0 get -- --key && shows '^--value$'
expect 1 get $'two\nlines' && says 'two\\x0alines'

# Standard input.
printf 'from\0stdin\n' > "$work/value"
expect 0 put in < "$work/value" && expect 0 get in && out 'from\0stdin\n\n'
expect 0 put none - < /dev/null && expect 0 get none && out '\n'
head -c 16777216 /dev/urandom > "$work/value"
expect 0 put large - < "$work/value" && expect 0 get large && echo >> "$work/value"
cmp -s "$work/value" "$work/out" || fail "16 MiB come back as they were"
expect 3 put large - < "$work/value" && says 'over 16 MiB'
run get large && [[ $(wc -c < "$work/out") == 16777217 ]] || fail "the old value stays"

# Bytes that are no text.
expect 0 put $'\xff\xfe' $'\xc3\x28' && expect 0 get $'\xff\xfe' && out '\xc3\x28\n'
expect 0 --json get $'\xff\xfe' && is_json && shows '"key_base64":"//4=","value_base64":"wyg="'
expect 0 put $'schön' '日本' && expect 0 --json get schön && is_json && shows '"value":"日本"'

# What others stored moves no terminal's cursor; a pipe gets it as it is.
on_terminal() {
  python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' \
    "$plov" --server "$uri" "$@" > "$work/out" 2> "$work/err" < /dev/null ||
    fail "plov $* on a terminal"
}
expect 0 put $'evil\ekey' $'\e]0;title\a\e[2J\r\xc2\x9b\nnext'
expect 0 get $'evil\ekey' && out '\e]0;title\a\e[2J\r\xc2\x9b\nnext\n'
on_terminal get $'evil\ekey' && out '\\x1b]0;title\\x07\\x1b[2J\\x0d\\xc2\\x9b\r\nnext\r\n'
on_terminal mget $'evil\ekey' && shows '^evil\\x1bkey'
on_terminal dump && shows '^evil\\x1bkey' && expect 0 delete $'evil\ekey'

# Keys that no server takes.
expect 2 get '' && says '0 bytes'
expect 2 put '' v && says '0 bytes'
expect 2 delete '' && expect 2 mget a ''
expect 0 put "$(repeat k 1024)" v && expect 0 get "$(repeat k 1024)" && out 'v\n'
for command in get delete mget put; do
  expect 2 "$command" "$(repeat k 1025)" < /dev/null && says '1025 bytes'
done

# delete
expect 0 delete a && out ''
expect 1 delete a && expect 1 get a
expect 1 delete a --json && out '{"key":"a","deleted":false}\n'
expect 0 put a Ada && expect 0 --json delete a && out '{"key":"a","deleted":true}\n'

# mget
expect 0 put m1 $'tab\tnewline\nbackslash\\' && expect 0 put m2 two
expect 0 mget m2 m1 m2 && out 'm2\ttwo\nm1\ttab\\tnewline\\nbackslash\\\\\nm2\ttwo\n'
expect 1 mget m1 gone m2 && says '1 of 3 keys is not there' && shows '^m2'
expect 1 mget gone away --json && is_json --json-lines && says '2 of 2 keys are not there'
expect 0 --json mget m1 m2 && is_json --json-lines && has_lines 2

# A server of its own has no replicas: nothing is older than it says.
for words in 'get m2' 'get gone' 'mget m2 gone' 'exists m2'; do
  # shellcheck disable=SC2086
  run $words && cp "$work/out" "$work/primary" && wanted=$status
  # shellcheck disable=SC2086
  run $words --read-from any-replica --max-age 1us
  ((status == wanted)) && cmp -s "$work/out" "$work/primary" || fail "$words --read-from any-replica"
done
expect 0 get m2 --json --read-from any-replica && is_json && shows '^{"key":"m2",.*,"expiry":0,"age_us":0}$'
expect 1 mget gone --json --read-from any-replica && out '{"key":"gone","found":false,"age_us":0}\n'
expect 0 touch m2 --read-from any-replica

# Conditions.
expect 3 put m2 new --add && says 'there already' && expect 0 get m2 && out 'two\n'
expect 0 put fresh new --add && expect 0 get fresh && out 'new\n'
expect 1 put gone new --replace && says 'no item' && expect 1 get gone
expect 0 put fresh newer --replace && expect 0 get fresh && out 'newer\n'
expect 0 put versioned 1 --json && is_json
version=$(tr -dc '0-9' <<< "$(grep -o '"version":[0-9]*' "$work/out")")
expect 3 put versioned 2 --if-version $((version + 1)) && says "not have version $((version + 1))"
expect 3 delete versioned --if-version $((version + 1))
expect 1 put gone 2 --if-version "$version"
expect 0 put versioned 2 --if-version "$version" && expect 0 get versioned && out '2\n'
run --json get versioned
version=$(tr -dc '0-9' <<< "$(grep -o '"version":[0-9]*' "$work/out")")
expect 0 delete versioned --if-version "$version" && expect 1 get versioned

expect 0 put valued old && expect 3 put valued new --if-value olds && says 'not have that value'
expect 1 put gone new --if-value old && says 'no item' && expect 2 put valued new --if-value old --add
expect 0 put valued new --if-value old --json && is_json && expect 0 get valued && out 'new\n'
expect 0 put valued '' --if-value new && expect 0 put valued x --if-value ''

# What the server makes of the value.
expect 1 append joined b && says '--create' && expect 1 prepend joined b
expect 0 append joined b --create --flags 7 && expect 0 append joined c && out ''
printf 'a\n' > "$work/value"
expect 0 prepend joined --json < "$work/value" && is_json && shows '"version"'
expect 0 get joined && out 'a\nbc\n' && expect 0 get joined --json && shows '"flags":7'
expect 3 append joined d --if-version 1 && says 'version 1'
head -c 16385 /dev/zero > "$work/value"
expect 3 append joined - < "$work/value" && says '16 KiB'
expect 1 incr n && says '--initial' && expect 0 incr n --initial 10 && out '11\n'
expect 0 incr n 31 && out '42\n' && expect 0 decr n 50 && shows '^-8$' && expect 0 get n && shows '^-8$'
expect 0 incr n -2 && shows '^-10$' && expect 0 decr n -- -2 && shows '^-8$'
expect 3 decr n 1 --min -8 && says 'limits' && expect 0 incr n 1 --max -7 && shows '^-7$'
expect 0 incr n --json && is_json && shows '^{"key":"n","version":[0-9]*,"number":-6}$'
expect 3 incr joined && says 'not the text of a number'
expect 2 incr n x && says "'x' is not a number" && expect 2 incr n 9223372036854775808
expect 2 decr n -9223372036854775808 && expect 2 incr n --min 2 --max 1 && expect 2 incr n --initial x
expect 0 put u 18446744073709551615 && expect 3 incr u && expect 0 incr u 2 --unsigned && out '1\n'
expect 0 decr u 5 --unsigned && out '0\n' && expect 0 incr u 18446744073709551615 --unsigned --json
shows '"number":18446744073709551615' && expect 2 incr u --unsigned --max 3 && expect 2 incr u -1 --unsigned

# Flags and expiry.
expect 0 get joined --ttl 1h && out 'a\nbc\n' && expect 0 get joined --json
shows '"flags":7,"expiry":[1-9]' && expect 0 touch joined && expect 0 get joined --json && shows '"expiry":0'
expect 1 get gone --ttl 1h
expect 0 put flagged v --flags 4294967295 --ttl 1h && expect 0 get flagged --json
shows '"flags":4294967295,"expiry":[1-9]'
expect 0 put brief v --ttl 1s
gone() {
  run get brief
  ((status == 1))
}
wait_for gone

end_server TERM

# The server's own limit.
start_server --max-value 1K
expect 0 put k "$(repeat v 1024)" && expect 3 put k "$(repeat v 1025)" && says 'max-value'
end_server TERM
