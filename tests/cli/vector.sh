#!/usr/bin/env bash
# vector: what is stored, printed and refused, and that it goes through dump and load.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

start_server --shards 2

# Every type, to its limits, from the command line and back.
both_ways() { # TYPE ELEMENT...
  expect 0 vector put "$@" && out '' && expect 0 vector get "$1"
  printf '%s\n' "${@:3}" | cmp -s - "$work/out" || fail "$1 prints other elements"
  # A text for each line, and blanks of all kinds.
  printf ' %s\t\r\n' "${@:3}" > "$work/elements"
  expect 0 vector put again "$2" < "$work/elements" && expect 0 vector get again
  printf '%s\n' "${@:3}" | cmp -s - "$work/out" || fail "$1 reads other elements"
}
for bits in 8 16 32; do
  both_ways "int$bits" "int$bits" -$((1 << (bits - 1))) -1 0 $(((1 << (bits - 1)) - 1))
  both_ways "uint$bits" "uint$bits" 0 $(((1 << bits) - 1))
  for number in $((1 << (bits - 1))) -$(((1 << (bits - 1)) + 1)); do
    expect 2 vector put "int$bits" "int$bits" 1 "$number"
    says "'$number' is no int$bits, a number from -$((1 << (bits - 1))) to $(((1 << (bits - 1)) - 1))"
  done
  expect 2 vector put "uint$bits" "uint$bits" $((1 << bits)) && expect 2 vector put "uint$bits" "uint$bits" -1
done
both_ways int64 int64 -9223372036854775808 9223372036854775807
both_ways uint64 uint64 0 18446744073709551615
both_ways float float 0.1 -0 1e-45 3.4028235e+38 16777216 nan inf -inf
both_ways double double 0.1 0.30000000000000004 5e-324 1.7976931348623157e+308 nan inf -inf
expect 2 vector put v int64 9223372036854775808 && expect 2 vector put v uint64 18446744073709551616
for text in '' x 1x 0x1 1.5 ' 1' '1 2' nan; do expect 2 vector put v int32 "$text" && says "' is no int32"; done
for text in '' x 1x '1 2' 1,5; do expect 2 vector put v double "$text" && says "' is no double, a number, nan"; done
expect 2 vector put v float 1e39 && says "'1e39' is out of the range of float" && expect 2 vector put v double 1e309
expect 2 vector put v int31 1 && says "no type 'int31': one of int8, int16" && expect 1 get v

# It is an ordinary item.
expect 0 vector put v int16 < /dev/null && expect 0 vector get v && out ''
expect 0 vector put v int16 1 2 && expect 0 get v && out 'plv\xfe\x02\0\0\0\x01\0\x02\0\n'
printf '\3\0' | "$plov" append v && expect 0 vector get v && out '1\n2\n3\n'
expect 3 vector put v int16 1 --add && says "'v' is there already" && expect 1 vector put w int16 1 --replace
expect 3 vector put v int16 1 --if-version 1 && says 'does not have version 1'
expect 0 vector put v int16 1 2 3 --flags 7 --ttl 1h --json && is_json && shows '^{"key":"v","version":[0-9]*}$'
version=$(tr -dc 0-9 < "$work/out")
expect 0 vector get v --json && out "{\"key\":\"v\",\"type\":\"int16\",\"version\":$version,\"elements\":[1,2,3]}\n"
expect 0 get v --json && shows '"flags":7,"expiry":[1-9]'
expect 0 vector get float --json && is_json
shows '"elements":\[0.1,-0.0,1e-45,3.4028235e+38,16777216.0,"nan","inf","-inf"\]}$'
expect 0 vector get uint64 --json && shows '"elements":\[0,18446744073709551615\]}$'
repeat 1 8388605 | sed 's/1/& /g' > "$work/elements"
expect 3 vector put v int16 < "$work/elements" && says 'the vector is over 16 MiB'

# update: prints as put does; flags and expiry stay.
expect 0 vector update v add 10 && out '' && expect 0 vector get v && out '11\n12\n13\n'
expect 0 get v --json && shows '"flags":7,"expiry":[1-9]'
expect 0 vector update v assign 1 2 3 && expect 0 vector update v max 2 && expect 0 vector get v && out '2\n2\n3\n'
expect 0 vector update v --first 1 add -- -5 && expect 0 vector update v min -3 --first 2 && expect 0 vector get v
out '2\n-3\n-3\n'
expect 0 vector update v and 6 && expect 0 vector update v or 1 && expect 0 vector update v xor 2
expect 0 vector get v && out '1\n7\n7\n'
expect 0 vector update v add 1 2 --first 1 && expect 0 vector get v && out '1\n8\n9\n'
expect 0 vector update v assign 0 --first 1 --count 1 --json && shows '^{"key":"v","version":[0-9]*}$'
version=$(tr -dc 0-9 < "$work/out")
expect 0 vector update v add 1 --if-version "$version" && expect 3 vector update v add 1 --if-version "$version"
says "'v' does not have version $version" && expect 0 vector get v && out '2\n1\n10\n'
expect 2 vector update v add 32768 && says "'32768' is no int16" && expect 2 vector update v plus 1
says "no function 'plus': one of assign, add" && expect 2 vector update v add 1 2 --count 3
expect 3 vector update v add 1 2 --first 2 && says "beyond the vector's end"
expect 2 vector update double and 1 && says 'functions of integers'

# reduce
expect 0 vector reduce v add && out '13\n' && expect 0 vector reduce v min && out '1\n'
expect 0 vector reduce v max --first 1 --count 1 && out '1\n' && expect 0 vector reduce v xor && out '9\n'
expect 0 vector reduce v add --json && is_json
shows '^{"key":"v","type":"int16","version":[0-9]*,"count":3,"result":13}$'
expect 0 vector put f float 0.1 0.25 && expect 0 vector reduce f min && out '0.1\n'
expect 0 vector reduce f add && out '0.3500000014901161\n' && expect 0 vector reduce f max --json && shows '"result":0.25}'
expect 0 vector put f double inf -inf && expect 0 vector reduce f add && out 'nan\n'
expect 0 vector reduce f add --json && shows '"result":"nan"}'
expect 0 vector reduce uint64 max && out '18446744073709551615\n'
expect 2 vector reduce v assign && expect 2 vector reduce v sum && expect 3 vector reduce f or
expect 3 vector reduce v add --first 4 && says "beyond the vector's end"

# filter: more than one message has, too.
expect 0 vector filter v gt 1 && out '0 2\n2 10\n' && expect 0 vector filter v lt 1 && out ''
expect 0 vector filter v eq 10 --first 1 && out '2 10\n' && expect 0 vector filter v ne 2 --count 2 && out '1 1\n'
expect 0 vector filter v le 1 --json && is_json
shows '^{"key":"v","type":"int16","version":[0-9]*,"indexes":\[1\],"elements":\[1\]}$'
seq 0 49999 > "$work/elements"
expect 0 vector put many uint32 < "$work/elements" && expect 0 vector filter many ge 10000
seq 10000 49999 | sed 's/.*/& &/' | cmp -s - "$work/out" || fail "40,000 matches"
expect 2 vector filter v like 1 && says "no comparison 'like': one of eq" && expect 2 vector filter v eq x
expect 2 vector filter v eq 1.5

# get of a slice
expect 0 vector get many --first 49998 && out '49998\n49999\n' && expect 0 vector get many --count 1 && out '0\n'
expect 0 vector get v --first 3 && out '' && expect 3 vector get v --first 4 && says "beyond the vector's end"
expect 3 vector get v --first 1 --count 3

# What is not there, and what is none.
expect 0 put text words && for words in 'get KEY' 'update KEY add 1' 'reduce KEY add' 'filter KEY eq 1'; do
  # shellcheck disable=SC2086
  expect 1 vector ${words/KEY/none} && says "no item has the key 'none'" && out ''
  # shellcheck disable=SC2086
  expect 3 vector ${words/KEY/text} && says 'value.* is no vector' && out ''
  # shellcheck disable=SC2086
  expect 2 vector ${words/KEY/$(repeat k 1025)} && expect 2 vector $words --flags 1 && says 'takes no --ttl, --flags'
done
expect 2 vector && expect 2 vector get && says 'usage: plov vector' && expect 2 vector get a b && expect 2 vector put a
says 'usage: plov vector put KEY TYPE \[ELEMENT' && expect 2 vector update v add && expect 2 vector filter v eq
expect 2 vector got v && says "no command 'vector got': did you mean 'get'?" && expect 2 vector reduce v add --if-version 1
expect 2 vector put v int8 1 --first 1 && says 'takes no --first' && expect 2 vector get v --first x
expect 2 vector put v int8 1 --if-value 1

# dump and load carry the bytes.
cp_of() { "$plov" vector get "$1" --json | sed 's/"version":[0-9]*//'; }
for key in v f many float int64; do cp_of "$key"; done > "$work/before"
for json in '' --json; do
  expect 0 dump $json && cp "$work/out" "$work/dump" && expect 0 flush --yes && expect 1 vector get v
  # shellcheck disable=SC2086
  expect 0 load ${json:+--json-lines} "$work/dump"
  for key in v f many float int64; do cp_of "$key"; done | cmp -s - "$work/before" || fail "dump $json and load"
done

# In a shell.
printf 'vector put s double 1.5 2\nvector update s add 1\nvector reduce s add\n' | "$plov" shell > "$work/out"
out '5.5\n'
end_server TERM
expect 3 vector get v && says 'no server on'
