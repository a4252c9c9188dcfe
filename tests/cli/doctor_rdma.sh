#!/usr/bin/env bash
# doctor on a machine with soft-RoCE, for tests/vm.sh: takes away what RDMA needs, one thing at a
# time, and runs what doctor says that mends it.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

[[ ${PLOV_VM:-} == 1 ]] || {
  echo "skipped: it changes the network and modules, so it runs in tests/vm.sh only"
  exit 77
}
readonly address=$PLOV_RDMA_ADDRESS device=$PLOV_RDMA_DEVICE
readonly usable='^ok       RDMA: verdict: usable'
netdev=$(< "/sys/class/infiniband/$device/parent")
readonly netdev
uri=rdma://$address:7777
export PLOV_SERVER=$uri

# mend_of SUBJECT: the command that the last run shows below what is wrong with it.
mend_of() {
  grep -A 1 -E "^(note    |PROBLEM)  ?$1: " "$work/out" | sed -n 's/^ *mend: //p' | head -n 1
}

# apply SUBJECT: runs it.
apply() {
  local command
  command=$(mend_of "$1")
  [[ -n $command ]] || fail "no command mends $1"
  bash -c "$command" > /dev/null 2> "$work/mending" || fail "'$command': $(< "$work/mending")"
}

# wrong SUBJECT MEANING: doctor says that it is a problem, RDMA being asked for.
wrong() {
  run doctor --timeout 500ms
  check_status 3 doctor
  shows "^PROBLEM  $1: .*$2"
  shows '^note     RDMA: verdict: not usable'
}

# mended: RDMA is usable again, once the kernel's own threads have noticed.
mended() {
  local tries
  for ((tries = 0; tries < 20; ++tries)); do
    run doctor --timeout 500ms
    if grep -q "$usable" "$work/out"; then break; fi
    sleep 0.1
  done
  shows "$usable"
  if grep -q '^PROBLEM  RDMA' "$work/out"; then fail "RDMA is not mended"; fi
}

nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"; }

# With a server: everything is there, and measured.
start_server
expect 0 doctor --memory 64M
shows "^ok       RDMA library: rdma-core [0-9.]* (libibverbs"
shows "^ok       RDMA device $device: soft-RoCE on $netdev, port 1 ACTIVE (Ethernet), serves $uri"
shows "^ok       RDMA GIDs of $device: index 1 is the one to use"
shows "^ok       RDMA READ depth of $device: [0-9]* READs" && shows "^ok       RDMA memory of $device"
shows "^ok       RDMA connections: " && shows "^ok       locked memory: .*64.0 MiB"
shows "$usable; plovd --listen can serve on $uri"
shows "^ok       server: $uri answers in [0-9.]* us, 1 shard"
shows '^ok       READs: connected in [0-9]* us; READ the superblock, whole, format version 10, in '
shows '101 READs of 64 bytes: median [0-9.]* us$'
expect 0 doctor --json
is_json
kill -STOP "$server"
run doctor --timeout 500ms
check_status 3 "doctor of a stopped server"
shows '^PROBLEM  server: .*does not answer in time'
kill -CONT "$server"
wait_for "$plov" ping
end_server TERM
run doctor
check_status 3 "doctor without a server"
shows "^PROBLEM  server: no server on $uri" && shows "mend: plovd --listen $uri &"
expect 0 doctor --server "shm:$work/none.sock" # RDMA is not asked for, nor needed

# The interface.
ip link set "$netdev" down
wrong "RDMA device $device" "port 1 (Ethernet) is DOWN: its interface $netdev is down"
shows '^PROBLEM  server: ' && shows 'mend: plov --server .* doctor  # again'
apply "RDMA device $device" && mended
ip address flush dev "$netdev"
wrong "RDMA device $device" "$netdev has no IP address"
apply "RDMA device $device" && mended && shows 'can serve on rdma://192.0.2.1:7777$'
ip address flush dev "$netdev" && ip address add "$address/24" dev "$netdev"
run doctor --timeout 500ms && shows "^note     RDMA MTU of $device: port 1: 1024 bytes a packet, .*MTU of 1500"
apply "RDMA MTU of $device" && run doctor --timeout 500ms
shows "^ok       RDMA MTU of $device: port 1: 4096 bytes a packet"
ip link set "$netdev" mtu 576
run doctor --timeout 500ms && shows "^note     RDMA MTU of $device: port 1: 256 bytes"
apply "RDMA MTU of $device" && run doctor --timeout 500ms && shows "^note     .* 1024 bytes a packet"

# Another network namespace sees the device, and cannot use it.
ip netns add other
status=0
ip netns exec other "$plov" doctor > "$work/out" 2> "$work/err" || status=$?
check_status 3 "doctor in another network namespace"
shows "^PROBLEM  RDMA device $device: soft-RoCE on $netdev, which is not in this network namespace"
ip netns delete other

# Soft-RoCE on the loopback interface: says ACTIVE, and nobody can use it.
rdma link delete "$device" && rdma link add rxelo type rxe netdev lo
wrong "RDMA device rxelo" "the loopback interface"
apply "RDMA device rxelo" && mended
rdma link delete rxelo && rdma link add "$device" type rxe netdev "$netdev" && mended

# Its files: who may open them, and whether they are there.
chmod 600 /dev/infiniband/*
status=0
nobody "$plov" doctor > "$work/out" 2> "$work/err" || status=$?
check_status 3 "doctor without permissions"
shows "^PROBLEM  RDMA device $device: this user may not open /dev/infiniband/uverbs0"
shows '^PROBLEM  RDMA connections: this user may not open /dev/infiniband/rdma_cm'
shows '^PROBLEM  server: no permission on /dev/infiniband/rdma_cm'
for subject in "RDMA device $device" "RDMA connections"; do
  mend=$(mend_of "$subject")
  [[ $mend == "sudo "* ]] || fail "'$mend' is for root, but without sudo"
  bash -c "${mend#sudo }"
done
nobody "$plov" doctor > "$work/out" 2> "$work/err" || true
shows "$usable"
rm -r /dev/infiniband
wrong "RDMA device $device" "/dev/infiniband/uverbs0 is not there"
shows '^PROBLEM  RDMA connections: .*/dev/infiniband/rdma_cm is not there'
cp "$work/out" "$work/both"
apply "RDMA device $device"
cp "$work/both" "$work/out"
apply "RDMA connections" && mended

# Locked memory, of a user whom it limits: what the shell can raise by itself, and what it cannot.
# shellcheck disable=SC2016 # The inner shell expands it.
nobody bash -c '
  ulimit -S -l 64
  found=$("$1" doctor 2> /dev/null)
  echo "$found"
  eval "$(sed -n "/ locked memory: /{n;s/^ *mend: //p}" <<< "$found")"
  echo "then $(ulimit -S -l)"' locked "$plov" > "$work/out"
shows '^PROBLEM  locked memory: 64.0 KiB (ulimit -l)' && shows 'mend: ulimit -l unlimited$'
shows '^then unlimited$'
(ulimit -l 64 && nobody "$plov" doctor > "$work/out" 2> "$work/err") || true
shows 'mend: sudo prlimit --pid \$\$ --memlock=unlimited:unlimited$'

# Modules, where the kernel cannot load them by itself.
echo > /proc/sys/kernel/modprobe
modprobe -r rdma_ucm
wrong "RDMA connections" "the module rdma_ucm is not loaded"
apply "RDMA connections" && mended
rdma link delete "$device"
modprobe -r rdma_ucm && modprobe -r rdma_rxe && modprobe -r crc32_generic
modprobe rdma_rxe
run doctor
check_status 3 "doctor without a device"
shows '^PROBLEM  RDMA devices: none on this machine'
shows '^PROBLEM  RDMA modules: rdma_rxe is loaded without the CRC-32'
if rdma link add "$device" type rxe netdev "$netdev" 2> /dev/null; then
  fail "the link can be added without crc32_generic"
fi
apply "RDMA devices" && mended

# Now all is as it was.
start_server
expect 0 doctor && shows '^ok       READs: '
end_server TERM
