#!/usr/bin/env bash
# plov-torture itself: short runs against servers of its own and one that is there, and what it says
# about wrong command lines. Called with the paths of plovd, plov and plov-torture.
# shellcheck source=tests/torture/tool.sh
source "$(dirname "${BASH_SOURCE[0]}")/tool.sh"

nothing_left() {
  [[ -z $(find "$work" /dev/shm -maxdepth 1 -name 'plov-torture-*' -newer "$work/begin") ]]
}

leaves_nothing() {
  local left
  left=$(find "$work" -maxdepth 1 -name 'plov-torture-*')
  [[ -z $left ]] || fail "left behind: $left"
  wait_for nothing_left # what is in /dev/shm may be of another run on this machine, and then goes
  left=$(pgrep -f "^$tool worker " || true)
  [[ -z $left ]] || fail "left running: $left"
}
touch "$work/begin"

# Wrong command lines.
torture 2 nonsense && torture 2 --nonsense && says 'nonsense'
for text in 0 '' 5x -3; do torture 2 --duration "$text" && says '\-\-duration'; done
for text in 0 '' 5x 31s; do torture 2 --timeout "$text" && says '\-\-timeout'; done
for text in 0 65 x ''; do torture 2 --clients "$text" && says '\-\-clients'; done
for text in 0 16777217 x; do torture 2 --keys "$text" && says '\-\-keys'; done
for text in 15-20 20-16 x 16-17M -; do torture 2 --value-bytes "$text" && says '\-\-value-bytes'; done
for text in '' stop,nonsense none,stop stop,; do torture 2 --faults "$text" && says 'not a fault'; done
for text in -1 x ''; do torture 2 --seed "$text" && says '\-\-seed'; done
torture 2 --html '' && says '\-\-html'
torture 2 --keys 10 --hot-keys 11 && torture 2 --json '' && torture 2 --bucket-bytes 96
torture 2 --memory 15M && torture 2 --shards 2 --memory 31M
torture 2 --server "$uri" --memory 64M && says 'own'
torture 2 --servers 0 && torture 2 --servers 3 && torture 2 --servers 2 --listen "$uri" && says 'listen'
torture 2 --server "$uri" --listen "$uri" && says '\-\-listen' && torture 2 --listen ''
torture 2 --server "$uri" --faults stop,kill-server && says 'kill-server needs'
torture 2 --transactions --cluster 3 && says 'not for a cluster'
torture 2 --transactions --server cluster:shm:a && says 'not for a cluster'
torture 0 --version && shows '^plov-torture [0-9]'
for words in --help -h; do torture 0 "$words" && shows '^Usage: plov-torture'; done

# Histories that somebody else recorded.
torture 2 check && torture 2 check one two && torture 2 check --nonsense && torture 2 check --json '' x
torture 0 check -h && shows '^Usage: plov-torture check'
torture 0 check --help && shows '^Usage: plov-torture check'
torture 3 check "$work/none" && says "cannot read $work/none"
printf '{:type :invoke, :process 0, :f :write, :value 1}\n{:type' > "$work/h.edn"
torture 3 check "$work/h.edn" && says "$work/h.edn:2: "
cat > "$work/h.edn" << 'END'
{:type :invoke, :process 0, :f :write, :value 1}
{:type :ok,     :process 0, :f :write, :value 1}
{:type :invoke, :process 1, :f :read,  :value nil}
{:type :ok,     :process 1, :f :read,  :value 1}
END
torture 0 check "$work/h.edn" && shows '^verdict  *PASS'
sed -i 's/:read,  :value 1/:read,  :value nil/' "$work/h.edn"
torture 1 check "$work/h.edn" --json "$work/v.json" --html "$work/v.html"
shows '^the register: no order explains line 3: p1 read → absent' && shows '^verdict  *VIOLATION'
verdict "v['exit_status'] == 1 and v['findings'][0]['operations'][-1]['impossible']"
grep -q 'class="op wrong"' "$work/v.html" || fail "the page does not mark what is wrong"
: > "$work/h.edn"
torture 4 check "$work/h.edn"

# Cannot run.
torture 3 --server "$uri" && says "no server on $work/s.sock"
torture 3 --plovd "$work/none" && says 'did not start'

# A run of its own, with everything. A machine that is slow sees too little of something.
torture '0|4' --plovd "$plovd" --duration 3s --keys 20000 --seed 1 --json "$work/v.json"
verdict "v['exit_status'] == $status and v['counts']['violations'] == 0"
verdict "v['counts']['checked'] == sum(sum(o.values()) for o in v['operations'].values()) > 0"
verdict "v['options']['seed'] == 1 and (v['verdict'] == 'pass') == (not v['missing'])"
shows '^verdict ' && says 'checked/s'
leaves_nothing

# Its own server where it is told to, and calls that have no time.
"$tool" --plovd "$plovd" --listen "$uri" --duration 100s --faults none --keys 100 \
  > "$work/out" 2> "$work/err" &
child=$!
wait_for "$plov" ping
kill -INT "$child"
status=0
wait "$child" || status=$?
((status == 4)) || fail "with --listen it ended with $status"
torture '0|4' --plovd "$plovd" --timeout 1us --duration 3s --faults none --json "$work/v.json"
# On a slow machine nobody may come to a connection in a millisecond.
verdict "sum(v['errors'].values()) > 0 or v['counts']['checked'] == 0"
verdict "v['counts']['violations'] == 0"
leaves_nothing

# Killed clients and servers: writes without an answer, further lives, nothing wrong.
torture '0|4' --plovd "$plovd" --duration 3s --faults kill-client,kill-server --keys 10000 \
  --json "$work/v.json"
verdict "v['counts']['server_lives'] == 1 + v['faults']['kill-server']"
for fault in kill-client kill-server; do # a slow machine may not come to both, and then says so
  verdict "v['faults']['$fault'] > 0 or 'the fault $fault did not happen: run longer' in v['missing']"
done
verdict "v['counts']['violations'] == 0"
leaves_nothing

# Two servers of one name that take it from each other, and two lives of one server.
for servers in 2 1; do
  torture '0|4' --plovd "$plovd" --duration 4s --faults kill-server --servers "$servers" \
    --keys 10000 --json "$work/v.json"
  verdict "v['counts']['violations'] == 0 and v['options']['servers'] == $servers"
  verdict "(v['counts']['fail_overs'] > 0) == ($servers == 2 and v['faults']['kill-server'] > 1)"
  leaves_nothing
done

# Shards that go from thread to thread as their load comes and goes.
PLOVD_THREADS=3 torture '0|4' --plovd "$plovd" --duration 5s --shards 5 --keys 20000 --json "$work/v.json"
verdict "v['counts']['violations'] == 0"
leaves_nothing

# Calls with deadlines of microseconds, items that expire, clients with clocks of their own.
came_to_both="v['faults']['deadline'] > 0 and v['faults'].get('clock', 1) > 0"
for duration in 4s 20s 60s; do # a slow machine needs longer
  torture '0|4' --plovd "$plovd" --duration "$duration" --faults deadline,clock --keys 10000 \
    --json "$work/v.json"
  verdict "v['counts']['violations'] == 0"
  if holds "$came_to_both"; then break; fi
done
verdict "$came_to_both"

# Transactions, of one shard and of several, while clients and the server are killed.
did_some="v['transactions']['commits'] > 0 and v['transactions']['snapshots'] > 0"
for shards in 1 3; do
  for duration in 4s 20s 60s; do # a slow machine needs longer
    torture '0|4' --plovd "$plovd" --transactions --duration "$duration" --shards "$shards" --keys 10000 \
      --faults pause,kill-client,kill-server --json "$work/v.json"
    verdict "v['counts']['violations'] == 0 and v['options']['transactions']"
    shows '^transactions  *[0-9,]* commits, '
    leaves_nothing
    if holds "$did_some"; then break; fi
  done
  verdict "$did_some"
done

# Too little: one key, and no standing items beside it that could displace each other.
torture 4 --plovd "$plovd" --duration 300ms --faults none --servers 1 --keys 1
shows '^too little  *no displacement was seen: run longer, with more --keys' && shows 'TOO LITTLE'
leaves_nothing

# An interrupt ends the run early, with a verdict and nothing left.
: > "$work/err" # else the line that is waited for is the former run's
"$tool" --plovd "$plovd" --duration 100s --faults none --keys 1 > "$work/out" 2> "$work/err" &
child=$!
wait_for grep -q 'checked/s' "$work/err"
kill -INT "$child"
status=0
wait "$child" || status=$?
((status == 4)) || fail "interrupted, it ended with $status"
shows '^verdict ' && shows "^cut short  *after .* s by SIGINT from process $$ (bash)"
leaves_nothing

# Killed, it leaves nothing either.
: > "$work/err"
"$tool" --plovd "$plovd" --duration 100s > "$work/out" 2> "$work/err" &
child=$!
wait_for grep -q 'checked/s' "$work/err"
kill -KILL "$child"
wait "$child" 2> /dev/null || true
wait_for nothing_left

# A server that is there: its own items stay, the tool's go.
start_server
"$plov" put mine stays
torture '0|4' --server "$uri" --duration 1s --keys 5000 --json "$work/v.json"
verdict "v['options']['faults'].removesuffix(',clock') == 'pause,stop,kill-client,deadline'"
verdict "v['counts']['checked'] > 0 and v['counts']['violations'] == 0"
[[ $("$plov" dump) == $'mine\tstays' ]] || fail "the server holds $("$plov" dump | head -c 200)"
: > "$work/err"
"$tool" --server "$uri" --duration 100s --keys 500 > "$work/out" 2> "$work/err" &
child=$!
wait_for grep -q 'checked/s' "$work/err"
kill -KILL "$child"
wait "$child" 2> /dev/null || true
only_mine() { [[ $("$plov" dump) == $'mine\tstays' ]]; }
wait_for only_mine
end_server TERM

# One that loses items on purpose.
start_server --evict
torture 3 --server "$uri" --duration 1s && says 'is a cache'
end_server TERM
