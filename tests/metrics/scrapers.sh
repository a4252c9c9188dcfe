#!/usr/bin/env bash
# Scrapers that are slow, many, silent or no scrapers at all: the server bounds what they take of it,
# clients put and get meanwhile, and who scrapes afterwards is served.
# shellcheck source=tests/metrics/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

start_with_metrics --shards 4
expect 0 put first 1
scrape
mkfifo "$work/fifo"

# abuse HOW: by a process of its own, which says when it is at it and goes on until its input ends.
abuse() {
  : > "$work/abuse" # of the one before
  python3 "$here/scrapers.py" "$1" "$port" < "$work/fifo" > "$work/abuse" 2>&1 &
  abuser=$!
  exec 3> "$work/fifo"
  wait_for grep -q '^at it$' "$work/abuse"
}
end_abuse() {
  exec 3>&-
  wait "$abuser" || fail "scrapers.py: $(tail -n 1 "$work/abuse")"
}

for how in late garbage silent dripping unread pipelined many; do
  abuse "$how"
  for ((i = 0; i < 20; ++i)); do
    expect 0 put "key$how" "value$i" && expect 0 get "key$how" && out "value$i\n"
  done
  descriptors=$(find "/proc/$server/fd" -mindepth 1 | wc -l)
  ((descriptors < 64)) || fail "$how: $descriptors descriptors"
  threads=$(find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l)
  ((threads < 8)) || fail "$how: $threads threads"
  end_abuse
  scrape
  shows '^plov_build_info' || fail "after $how"
done
[[ $(value plov_protocol_errors_total) == 0 ]] || fail "a scraper was taken for a client"

# A server that ends beside them.
abuse dripping
end_server TERM
end_abuse
