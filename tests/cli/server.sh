#!/usr/bin/env bash
# stats, ping and doctor, with a server and without.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# judge PYTHON: an expression on the last run's JSON, called j.
judge() {
  python3 -c "import json, sys; j = json.load(open(sys.argv[1])); sys.exit(not ($1))" \
    "$work/out" || fail "not so: $1"
}

# doctor_agrees: exit status, JSON and text say the same.
doctor_agrees() {
  run doctor --json
  local text_status=$status
  is_json
  judge "all(f['verdict'] in ('ok', 'note', 'PROBLEM') for f in j['findings'])"
  judge "j['problems'] == sum(f['verdict'] == 'PROBLEM' for f in j['findings'])"
  judge "$text_status == (3 if j['problems'] else 0)"
  judge "all(f['meaning'] for f in j['findings']) and len(j['findings']) >= 10"
  judge "all('mend' in f for f in j['findings'] if f['verdict'] == 'PROBLEM')"
  run doctor
  ((status == text_status)) || fail "text and JSON differ"
}

doctor_agrees
shows '^note     server: none runs on' && shows "mend: plovd --listen $uri &"

start_server --shards 2
expect 0 ping && shows 'answered in [0-9.]* us$'
expect 0 ping --json && is_json && judge "0 < j['round_trip_us'] < 5e6"

for ((i = 0; i < 20; ++i)); do printf 'key%s\tvalue\n' $i; done > "$work/lines"
expect 0 load "$work/lines" && expect 0 delete key7
expect 0 stats && shows '^items  *19$' && shows '^shards  *2$' && shows '^puts  *20$'
shows '^memory  *[0-9.]* KiB of 64.0 MiB used (fullest shard [0-9]* % full), [0-9.]* KiB committed$'
shows '^table  *0.2 % of 8,192 buckets of 64 bytes, 512.0 KiB, generation 1$'
shows '^records  *0 B in 0 B of memory$' && shows '^growths  *0$' && shows '^clients dropped  *0$'
expect 0 stats --json && is_json
judge "len(j['shards']) == 2 and j['total']['items'] == 19"
judge "all(0 < s['items'] < 19 for s in j['shards'])"
judge "j['total']['puts'] == 20 and j['total']['deletes'] == 1 and j['total']['clients'] == 1"
judge "j['total']['memory_bytes'] == sum(s['memory_bytes'] for s in j['shards'])"
judge "j['total']['bucket_bytes'] == 64 and j['total']['generation'] == 1"
judge "j['total']['full_percent'] == max(s['full_percent'] for s in j['shards'])"
judge "j['total']['table_percent'] == 0 and j['total']['growing'] == 0"

doctor_agrees
shows "^ok       server: $uri answers"

# Limits that are too low are found.
limited() {
  (
    ulimit -S "$1" "$2"
    "$plov" doctor > "$work/out" 2> "$work/err"
  ) && status=0 || status=$?
  check_status 3 "doctor with ulimit $*"
}
limited -n 40 && shows '^PROBLEM  open files' && shows 'mend: ulimit -n 1024'
limited -f 2000 && shows '^PROBLEM  file size' && shows 'mend: ulimit -f unlimited'

# What is left of a server that was killed.
end_server KILL
expect 3 doctor && shows '^PROBLEM  server: no server on'
expect 3 doctor --server http://x && shows '^PROBLEM  server: no fabric'
start_server
expect 0 ping
end_server TERM

# Of one whose start script has closed its standard files: what it says to them goes nowhere, least of
# all into its memory.
closed() {
  (
    exec <&- >&- 2>&- 3>&-
    exec "$plovd" --listen "$uri" --memory 16M --warm "$work/warm"
  ) &
  server=$!
  wait_for "$plov" ping
}
closed
expect 0 put kept value
end_server TERM
closed
expect 0 get kept && out 'value\n'
end_server TERM
