#!/usr/bin/env bash
# A device that is removed and comes back: removal.sh BUILD, called in a machine of tests/vm.sh.
# plovd serves over a second rxe device, which is removed while it is idle, and again under the
# GETs of three clients: it lets go of the device, says so, keeps its items, and serves them
# when the device is back; and shards come and go meanwhile. The first device only stays: with no device
# left librdmacm keeps the last one open. Exit status: 0 passed, 1 failed, 2 usage.
set -euo pipefail

if (($# != 1)) || [[ ${PLOV_VM:-} != 1 ]]; then
  echo "usage: removal.sh BUILD, within tests/vm.sh" >&2
  exit 2
fi
readonly build=$1 address=10.98.0.1 device=rxe1 netdev=dummy1 uri=rdma://10.98.0.1:7745
work=$(mktemp -d)
readonly work log=$work/log

# until SECONDS COMMAND...: tries it until it succeeds.
until_true() {
  local seconds=$1 end
  shift
  for ((end = SECONDS + seconds; SECONDS <= end; )); do
    if "$@"; then return; fi
    sleep 0.1
  done
  echo "failed: $* within $seconds seconds"
  cat "$log"
  exit 1
}

add_device() {
  rdma link add "$device" type rxe netdev "$netdev"
  until_true 20 sh -c "rdma link show $device/1 | grep -q ACTIVE"
}

# What the log says COUNT times, of each removal and each return.
says() { (($(grep -cF "$1" "$log") == $2)); }

remove_device() { timeout 30 rdma link delete "$device"; }

plov() { "$build/client/plov" --server "$uri" --timeout 5s "$@"; }

# plov fails for want of a server or a device (3), not of an item (1).
unreachable() {
  local status=0
  plov get item > "$work/out" 2> "$work/err" || status=$?
  ((status == 3)) && grep -q "no RDMA device of this machine reaches" "$work/err"
}

ip link add "$netdev" type dummy
ip address add "$address/24" dev "$netdev"
ip link set "$netdev" up
add_device
"$build/server/plovd" --listen "$uri" --memory 64M > "$log" 2>&1 &
server=$!
until_true 30 grep -qx "plovd: ready on $uri" "$log"
plov put item kept

remove_device
until_true 10 says "is being removed" 1
unreachable
add_device
until_true 10 says "is back: serving" 1
[[ $(plov get item) == kept ]]
echo "passed removed while idle"

# Three clients, one after the other, each of which ends for want of a server.
client() {
  local done=0
  while [[ ! -e $work/stop ]]; do
    if plov get item > "$work/client.$1" 2>&1; then done=$((done + 1)); fi
  done
  echo "$done" > "$work/done.$1"
}
clients=()
for number in 1 2 3; do
  client "$number" &
  clients+=($!)
done
sleep 5
remove_device
until_true 10 says "is being removed" 2
unreachable
add_device
until_true 10 says "is back: serving" 2
[[ $(plov get item) == kept ]]
sleep 3
: > "$work/stop"
wait "${clients[@]}"
for number in 1 2 3; do (($(< "$work/done.$number") > 0)); done
echo "passed removed under the GETs of clients ($(cat "$work"/done.* | paste -sd+))"

kill -TERM "$server"
wait "$server"

PLOV_REMOVABLE_DEVICE=$device PLOV_REMOVABLE_NETDEV=$netdev PLOV_REMOVABLE_ADDRESS=$address \
  "$build/tests/fabric/fabric_verbs_test" --gtest_filter='VerbsRemoval.*' | tee "$work/shards"
grep -q '^\[ *OK \]' "$work/shards"
echo "passed shards that come and go meanwhile"
echo "over RDMA, removal: 3 passed, 0 failed, 0 skipped"
