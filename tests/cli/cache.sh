#!/usr/bin/env bash
# Cache mode: more than the memory holds goes in, and what is there is as it was stored.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seq 1 60000 | awk '{printf "key%d\tvalue%01000d\n", $1, $1}' > "$work/lines"

# judge PYTHON: of the total of the last run's statistics, called t.
judge() {
  python3 -c "import json, sys; t = json.load(open(sys.argv[1]))['total']; sys.exit(not ($1))" \
    "$work/out" || fail "not so: $1"
}

start_server --evict --memory 32M --shards 2
expect 0 load "$work/lines" && shows '^stored 60000 items'
expect 0 stats --json && judge "t['items'] + t['evicted'] == 60000 and t['evicted'] > 20000"
judge "t['no_space'] == 0 and t['full_percent'] <= 100"
expect 0 stats && shows '^evicted  *[1-9][0-9,]*$'
expect 0 get key60000 && shows '^value0*60000$'
expect 1 get key1
expect 0 dump && LC_ALL=C sort "$work/out" > "$work/dump"
LC_ALL=C sort "$work/lines" | LC_ALL=C comm -13 - "$work/dump" > "$work/others"
[[ -s $work/dump && ! -s $work/others ]] || fail "the server holds what nobody has stored"
end_server TERM

# Nothing is evicted where nobody has asked for it.
start_server --memory 16M
expect 3 load "$work/lines"
expect 0 stats --json && judge "t['evicted'] == 0 and t['no_space'] > 0"
end_server TERM

"$plovd" --listen "$uri" --evict --log "$work/log" 2> "$work/err" && fail "a cache with a log"
says 'evict and --log do not go together'
