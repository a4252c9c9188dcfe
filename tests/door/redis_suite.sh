#!/bin/bash
# By hand: runs the parts of Redis's own test suite that are about strings and keys against a plov-door, or a Redis, that
# is there already, and prints each test that failed with what it says. All its items are deleted.
#
# usage: redis_suite.sh REDIS_SOURCE_TREE PORT
#
# REDIS_SOURCE_TREE: of 7.0, which has tests/ and is left as it is; no package of Debian's has it. Needs tclsh, redis-cli
# and redis-benchmark. plov-door has to have --max-item 17M, for one of the tests.
#
# Against plov-door these fail for a reason that plov-door(8) has: commands and types that are not offered (lists, sets,
# hashes, bits, LCS, RENAME, COPY, CONFIG SET, scripts), and expiry of less than a second.
set -euo pipefail

readonly tree=${1:?usage: redis_suite.sh REDIS_SOURCE_TREE PORT} port=${2:?}
readonly units=(unit/type/string unit/type/incr unit/expire unit/keyspace unit/scan unit/multi)
readonly seconds_per_unit=300

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src" "$folder/tests"
cp -r "$tree/tests/." "$folder/tests"
for program in redis-cli redis-benchmark; do ln -s "$(command -v $program)" "$folder/src/$program"; done
# The one thing that the suite asks of a server that is there and that plov-door has not: its functions are deleted.
sed -i '/r function flush/d' "$folder/tests/support/server.tcl"
# A test that fails within MULTI would have the next ones fail.
sed -i -E 's/^    test \{.*\} \{$/&\n        catch {r discard}/' "$folder/tests/unit/multi.tcl"

cd "$folder"
failed=0
for unit in "${units[@]}"; do
  output=$(timeout "$seconds_per_unit" tclsh tests/test_helper.tcl --host 127.0.0.1 --port "$port" \
    --single "$unit" --singledb --durable --ignore-encoding --ignore-digest \
    --tags "-needs:debug -needs:repl -external:skip" 2>&1 || true)
  output=$(sed 's/\x1b\[[0-9;]*m//g' <<<"$output")
  grep -A1 -E '^\[(err|exception|timeout)\]' <<<"$output" || true
  passed=$(grep -c '^\[ok\]' <<<"$output" || true)
  errors=$(grep -c -E '^\[(err|exception|timeout)\]' <<<"$output" || true)
  grep -q 'The End' <<<"$output" || { echo "$unit did not come to its end"; failed=1; }
  echo "$unit: $passed passed, $errors failed"
  ((errors == 0)) || failed=1
done
exit $failed
