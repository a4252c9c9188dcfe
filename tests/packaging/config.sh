#!/usr/bin/env bash
# The configuration file that packages install has every option of plovd, with its default, and plovd
# reads it with all of them. Called with the paths of plovd and plov.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"

config=$(dirname "${BASH_SOURCE[0]}")/../../server/plovd.conf

# "NAME DEFAULT" of each option that --help shows, "NAME" of those without one: the default is what stands
# in the last brackets.
"$plovd" --help | sed -n '/^Options:/,/^$/p' | sed '1d;$d' |
  awk '/^  --/ {print ""} /^  -[A-Z a-z] / {exit} {sub(/^ +/, ""); printf "%s ", $0}' |
  sed -nE 's/^--([a-z-]+) .*[^:] \(([^ ]+)\) *$/\1 \2/p; t; s/^--([a-z-]+) .*/\1/p' > "$work/options"
[[ $(wc -l < "$work/options") -gt 20 ]] || fail "of --help only $(wc -l < "$work/options") options were found"

while read -r name default; do
  case $name in
    config) continue ;;
    warm | log | metrics | cluster | cluster-auth | id | zone | max-shards | test-cuts) default='.*' ;; # has none: an example
  esac
  grep -qx "#$name = $default" "$config" || fail "plovd.conf has no line '#$name = $default'"
done < "$work/options"

grep -E '^[^#]' "$config" && fail "plovd.conf sets an option"
grep -oE '^#[a-z-]+ =' "$config" | tr -d '#=' | while read -r name; do
  grep -qE "^$name( |$)" "$work/options" || echo "$name"
done > "$work/out"
[[ ! -s $work/out ]] || fail "plovd has no such option"

# With all of them, but for lists of users, whose default has no name, a cluster, and places that are the system's.
sed -E -e '/^#(writers|readers|listen|metrics|cluster|cluster-auth|id|zone|max-shards|test-cuts) = /d' -e 's/^#([a-z-]+ = )/\1/' \
  -e "s#= /dev/shm/plov/main#= /dev/shm/plov-test-${work##*.}#" \
  -e "s#= /var/lib/plov/main/log#= $work/log#" -e "s#^(log-output) = .*#\1 = $work/plovd.log#" \
  -e 's/^memory = .*/memory = 64M/' "$config" > "$work/all.conf"
grep -q '^snapshot-keep = 1$' "$work/all.conf" || fail "no option was set"
: > "$work/ready"
"$plovd" --listen "$uri" --config "$work/all.conf" > "$work/ready" &
server=$!
wait_for grep -q '^plovd: ready on ' "$work/ready"
end_server TERM
rm -f "/dev/shm/plov-test-${work##*.}"*
grep -q stopping "$work/plovd.log" || fail "there are no messages"
