#!/usr/bin/env bash
# What a loaded server tells Prometheus, and whether alerts and dashboard ask for what there is.
# shellcheck source=tests/metrics/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
root=$here/../..
alerts=$root/packaging/prometheus/alerts.yml

command -v promtool > /dev/null || { echo "skipped: promtool is not installed (prometheus)"; exit 77; }

start_with_metrics --shards 2 --log "$work/log"
for ((i = 0; i < 2000; ++i)); do printf 'key%d\tvalue\n' $i; done > "$work/lines"
expect 0 load "$work/lines"
mapfile -t keys < <(cut -f 1 "$work/lines")
expect 0 mget "${keys[@]}" && expect 0 delete key7 && expect 0 snapshot

counts() { scrape && (($(value plov_snapshots_total) == 2)); }
wait_for counts
[[ $(value plov_puts_total) == 2000 ]] || fail "plov_puts_total"
[[ $(value plov_items) == 1999 ]] || fail "plov_items"
[[ $(value plov_memory_bytes) == 67108864 ]] || fail "plov_memory_bytes"
[[ $(value plov_build_info) == 1 ]] || fail "plov_build_info"
(($(value plov_log_commit_duration_seconds_count) > 0)) || fail "no commits"
shows '^plov_log_commit_duration_seconds_bucket{shard="1",le="+Inf"} [1-9]'
cp "$work/out" "$work/scrape"
promtool check metrics < "$work/scrape" 2> "$work/err" || fail "promtool check metrics"
[[ ! -s $work/err ]] || fail "promtool has something to say"

# The command line tells the same, but of the HTTP server.
expect 0 stats --prometheus
names() { sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$1" | grep -v '^exposer_'; }
diff <(names "$work/scrape") <(names "$work/out") || fail "stats --prometheus tells something else"
promtool check metrics < "$work/out" 2> "$work/err" || fail "promtool check metrics of stats"

# Scrapes are nothing to a server that sleeps.
before=""
idle() {
  local last=$before
  scrape
  before=$(value plov_sleeps_total)
  [[ $before == "$last" ]]
}
wait_for idle
cpu=$(value plov_cpu_seconds_total)
for ((i = 0; i < 20; ++i)); do scrape; done
[[ $(value plov_sleeps_total) == "$before" ]] || fail "a scrape has woken a shard"
[[ $(value plov_cpu_seconds_total) == "$cpu" ]] || fail "a scrape has cost a shard time"

# Alerts, and the queries of the dashboard as if they were rules.
promtool check rules "$alerts" > "$work/out" 2> "$work/err" || fail "promtool check rules"
(cd "$here" && promtool test rules alerts_test.yml) > "$work/out" 2> "$work/err" || fail "the alerts"
python3 "$here/queries.py" "$root/packaging/grafana/plov.json" > "$work/queries.yml" || fail "dashboard"
promtool check rules "$work/queries.yml" > "$work/out" 2> "$work/err" || fail "the dashboard's queries"
for file in "$alerts" "$work/queries.yml"; do
  # A server of a cluster tells of its replicas: tests/cluster/demo.sh.
  grep -o 'plov_[a-z0-9_]*' "$file" | grep -vE '^plov_(dashboard|replica)' | sort -u > "$work/names"
  while read -r name; do
    grep -q "^${name}[{ ]" "$work/scrape" || fail "$file asks for $name, which no server tells"
  done < "$work/names"
done

# Where metrics cannot be served.
refused() {
  local wanted=$1
  shift
  status=0
  timeout 100 "$plovd" --listen "shm:$work/other.sock" --memory 16M "$@" > "$work/out" 2> "$work/err" || status=$?
  [[ $status == "$wanted" && $(wc -l < "$work/err") == 1 ]] || fail "plovd $* ended with $status"
}
refused 3 --metrics "127.0.0.1:$port" --log-level off && says "127.0.0.1:$port: the port is in use"
refused 3 --metrics "no.such.host.invalid:1" --log-level off && says 'no.such.host.invalid'
refused 2 --metrics ":$port" && says 'is not HOST:PORT'
refused 2 --metrics "$port" && says 'is not HOST:PORT'
refused 2 --metrics '' && says 'is empty'
end_server TERM

start_server --metrics 0.0.0.0:0 2> "$work/err"
says '0.0.0.0:[0-9]*/metrics is open to every host'
end_server TERM
