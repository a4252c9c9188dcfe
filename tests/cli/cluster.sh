#!/usr/bin/env bash
# plovd --cluster: what is wrong with options and file is said in one line, and nothing is started. What a server says of
# itself. Called with the paths of plovd and plov.
# shellcheck source=tests/cli/common.sh
source "$(dirname "$0")/common.sh"
unset PLOVD_CLUSTER PLOVD_ID
file=$work/cluster.json
good=$work/good.json

cat > "$good" << EOF
{
  "config": {"format": 1, "cluster": "00000000c1000001", "hash_seed": "00000000000005ed", "shards": 2,
             "replicas": 1, "min_replicas": 1, "lease_ms": 0, "detect_ms": 300, "drop_ms": 80, "rate_error_ppm": 100000},
  "servers/a1": {"cluster": "00000000c1000001", "life": "0000000000000001", "uris": ["shm:$work/a1"],
                 "zone": "", "memory_bytes": 0, "shards_max": 0},
  "servers/b1": {"cluster": "00000000c1000001", "life": "0000000000000001", "uris": ["shm:$work/b1"],
                 "zone": "", "memory_bytes": 0, "shards_max": 0},
  "shards/0": {"cluster": "00000000c1000001", "epoch": 1, "slot_first": 0, "slot_last": 8191, "primary": "a1",
               "in_sync": [{"server": "a1", "incarnation": "0000000000000010"}], "joining": [], "proposal": "0000000000000001"},
  "shards/1": {"cluster": "00000000c1000001", "epoch": 1, "slot_first": 8192, "slot_last": 16383, "primary": "b1",
               "in_sync": [{"server": "b1", "incarnation": "0000000000000011"}], "joining": [], "proposal": "0000000000000001"}
}
EOF

# refused TEXT OPTION...: plovd ends with 2, and one line that says so.
refused() { ends_with 2 "$@"; }
# ends_with STATUS TEXT OPTION...: the same with another status.
ends_with() {
  local expected=$1 text=$2 status=0
  shift 2
  timeout 60 "$plovd" --memory 64M "$@" > "$work/out" 2> "$work/err" || status=$?
  [[ $status == "$expected" ]] || fail "plovd $*: status $status"
  [[ $(wc -l < "$work/err") == 1 ]] || fail "plovd $*: not one line"
  grep -q '^plovd: ' "$work/err" || fail "plovd $*: no 'plovd: '"
  says "$text"
}
# refused_with TEXT SED: the same of a file in which something is otherwise.
refused_with() {
  sed -E "$2" "$good" > "$file"
  if cmp -s "$good" "$file"; then fail "$2 changes nothing"; fi
  refused "$1" --cluster "static:$file" --id a1
}

refused '--cluster needs --id' --cluster "static:$good"
refused '--id is for a server with --cluster' --id a1
refused '--shards: the cluster says' --cluster "static:$good" --id a1 --shards 2
refused 'etcd://x is neither zk://HOST,.../ROOT nor static:FILE' --cluster etcd://x --id a1
refused 'static: is neither zk://HOST,.../ROOT nor static:FILE' --cluster static: --id a1
refused '--zone is for --cluster zk://' --cluster "static:$good" --id a1 --zone r1
refused '--cluster-auth is for --cluster zk://' --cluster "static:$good" --id a1 --cluster-auth "$work/auth"
refused '--zone is for a server with --cluster' --zone r1
refused '--cluster needs --listen' --cluster zk://127.0.0.1:1/plov --id a1
zk=(--cluster zk://127.0.0.1:1/plov --id a1 --listen "shm:$work/zk")
refused '--warm and replicas do not go together yet' "${zk[@]}" --warm "$work/warm"
refused '--commit: with replicas it is strict' "${zk[@]}" --log "$work/log" --commit async
refused '--zone is not a name' "${zk[@]}" --zone 'r 1'
refused 'no-such-file' "${zk[@]}" --cluster-auth "$work/no-such-file"
ends_with 3 'answers at 127.0.0.1:1 within' "${zk[@]}" # its unit starts it again
refused 'there is no such file' --cluster "static:$work/none.json" --id a1
refused 'has no c1: it has a1, b1' --cluster "static:$good" --id c1
refused '--id is not a name of 1 to 64 letters' --cluster "static:$good" --id ''
refused '--id is not a name of 1 to 64 letters' --cluster "static:$good" --id $'a1\nb1'

refused_with 'line 3: is no JSON' '3s/,/,,/'
refused_with 'has no "config"' 's/"config"/"konfig"/'
refused_with 'config: .*format: is 2, of a later release' 's/"format": 1/"format": 2/'
refused_with 'config: .*hash_seed: is not a text of 16 hex digits' 's/00000000000005ed/5ed/'
refused_with 'config: replicas is 2: without a coordinator' 's/"replicas": 1/"replicas": 2/'
refused_with 'shards/1: the config has 1 shards, so the last one is 0' 's/"shards": 2/"shards": 1/'
refused_with 'shards/2: is missing: the config has 3 shards' 's/"shards": 2/"shards": 3/'
refused_with 'shards: slots 8000 to 8191 belong to no shard' 's/8191/7999/'
refused_with 'shards/1: slot 8192 is another shard' 's/8191/8192/'
refused_with 'shards: slots 16383 to 16383 belong to no shard' 's/16383/16382/'
refused_with 'shards/1: .*slot_last: is not an integer of 0 to 16383' 's/16383/16384/'
refused_with 'shards/01: is not a shard.s number' 's#shards/1#shards/01#'
refused_with 'shards/0: has 2 replicas, 0 of them joining: without a coordinator' \
  's/("in_sync": \[)(.*000010"\})/\1\2, {"server": "b1", "incarnation": "0000000000000012"}/'
refused_with 'shards/0: has 2 replicas, 1 of them joining: without a coordinator' \
  '/shards\/0/,$s/("joining": \[)/\1{"server": "c1", "incarnation": "0000000000000012"}/'
refused_with 'shards/1: its primary b1 is not below servers/' 's#servers/b1#servers/d1#'
refused_with 'servers/a1: .*uris: is not an array of 1 to' 's#\["shm:.*/a1"\]#[]#'
refused_with 'shards/1: data of another cluster' '/shards\/1/s/c1000001/c1000002/'
refused_with "no fabric for 'tcp:x'" 's#shm:[^"]*/a1#tcp:x#'

# plov cluster: what is wrong with the command line, a file that nobody but an operator changes, nobody who answers.
# ends STATUS TEXT WORD...
ends() {
  local expected=$1 text=$2 status=0
  shift 2
  timeout 60 "$plov" --timeout 500ms cluster "$@" > "$work/out" 2> "$work/err" || status=$?
  [[ $status == "$expected" ]] || fail "plov cluster $*: status $status"
  says "$text"
}
ends 2 "no command 'cluster frob'" frob zk://127.0.0.1:1/plov
ends 2 'usage: plov cluster create URI ID...' create zk://127.0.0.1:1/plov
ends 2 'usage: plov cluster status URI' status zk://127.0.0.1:1/plov a1
ends 2 'usage: plov cluster shards URI' shards zk://127.0.0.1:1/plov 0
ends 2 'force needs --to ID.*--lose-data' force zk://127.0.0.1:1/plov 0 --to a1
ends 2 "'x' is not a shard.s number" force zk://127.0.0.1:1/plov x --to a1 --lose-data
ends 2 "--shards 'x' is not a number" create zk://127.0.0.1:1/plov a1 --shards x
ends 2 '--lease: ' create zk://127.0.0.1:1/plov a1 --lease never
ends 2 'set needs what is to be set' set zk://127.0.0.1:1/plov
ends 2 '--repair-after: ' set zk://127.0.0.1:1/plov --repair-after soon
ends 2 "is longer than 604800 s" set zk://127.0.0.1:1/plov --repair-after 200h
ends 3 'answers at 127.0.0.1:1' set zk://127.0.0.1:1/plov --repair-after off
for part in status servers shards; do ends 3 'answers at 127.0.0.1:1 within 500 ms' $part zk://127.0.0.1:1/plov; done
ends 2 'is not zk://HOST' status "static:$good"

# What it says of itself, where it is asked for nothing but that.
command -v curl > /dev/null || exit 77
port=$((20000 + $$ % 20000))
uri=shm:$work/other
start_server --max-clients 100 --cluster "static:$good" --id b1 --metrics "127.0.0.1:$port"
curl -sf "http://127.0.0.1:$port/metrics" > "$work/out" || fail 'no metrics'
shows '^plov_cluster_info{cluster="00000000c1000001",server="b1"} 1$'
shows '^plov_items{shard="1"} 0$'
grep -q 'shard="0"' "$work/out" && fail 'metrics of a shard that it has not'
# The other one, from the environment.
end_server TERM
export PLOVD_CLUSTER=static:$good PLOVD_ID=a1
start_server --max-clients 100
end_server KILL
