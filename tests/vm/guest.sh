#!/usr/bin/env bash
# Runs inside tests/vm.sh's virtual machine, on the host's files: guest.sh MACHINE. Brings up rxe,
# runs the command that vm.sh has written to the share, and leaves its exit status there.
set -euo pipefail

readonly machine=$1 share=/run/plov-vm
readonly mine=$share/$machine
readonly address=10.99.0.$machine
readonly paths=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin
export PATH=$paths

# Leaves a line for vm.sh to show, and ends the machine without an exit status.
fail() {
  echo "$*" > "$mine/problem"
  exit 1
}

# Makes the netdev and sets `netdev` to its name.
add_netdev() {
  if [[ -e $share/two ]]; then
    modprobe virtio_net || fail "cannot load virtio_net"
    netdev=eth0
  else
    modprobe dummy || fail "cannot load dummy"
    netdev=dummy0
    # Depending on its options, the module has made one by itself.
    ip link show "$netdev" &> /dev/null || ip link add "$netdev" type dummy ||
      fail "cannot add a dummy netdev"
  fi
  ip address add "$address/24" dev "$netdev" || fail "cannot give $netdev an address"
  ip link set "$netdev" up
}

add_rxe() {
  local netdev state="" tries
  # Without crc32_generic no rxe link can be added, and nothing loads it by itself.
  modprobe --all crc32_generic rdma_rxe rdma_ucm ib_uverbs || fail "cannot load the rdma modules"
  ip link set lo up
  add_netdev
  rdma link add rxe0 type rxe netdev "$netdev" || fail "cannot add an rxe link to $netdev"
  for ((tries = 0; tries < 200; ++tries)); do
    state=$(rdma link show rxe0/1)
    if [[ $state == *"state ACTIVE"* ]]; then return; fi
    sleep 0.05
  done
  fail "the rxe link is not active: $state"
}

# libibverbs loads the drivers of all kinds of cards into each process that uses it, over these files
# a quarter of a short command's time: leave it the one that this machine needs.
leave_one_driver() {
  local file
  for file in /etc/libibverbs.d/*.driver; do
    if [[ $file != */rxe.driver ]]; then rm -f "$file"; fi
  done
}

# Replaces this process by the command, in a session of its own.
start_command() {
  set +eu
  # These become variables of this function; it exports them to what it executes.
  # shellcheck disable=SC1091 # vm.sh writes it.
  source "$mine/environment" 2> /dev/null
  export PATH=$PATH:$paths
  export PLOV_VM=1 PLOV_VM_MACHINE=$machine PLOV_RDMA_DEVICE=rxe0 PLOV_RDMA_ADDRESS=$address
  if [[ -e $share/two ]]; then
    export PLOV_RDMA_PEER=10.99.0.$((3 - machine)) PLOV_VM_SHARE=$share/both
  fi
  ulimit -l unlimited
  ulimit -c 0
  cd "$(< "$mine/folder")" && exec setsid bash "$mine/command"
  exit 126
}

# kill_all_but ID...: every process but the kernel's, the first and this one.
kill_all_but() {
  local folder id
  for folder in /proc/[0-9]*; do
    id=${folder#/proc/}
    if [[ -e $folder/exe && " 1 $$ $* " != *" $id "* ]]; then kill -KILL "$id" 2> /dev/null; fi
  done || true
}

# The output goes through pipes, so that the command may open /dev/stdout again. The exit status
# follows when all of it is with the host.
run_command() {
  local status=0 copies
  mkfifo /run/out /run/err
  cat /run/out >> "$mine/out" &
  copies=($!)
  if [[ -e $mine/err ]]; then
    cat /run/err >> "$mine/err" &
    copies+=($!)
    exec 3> /run/out 4> /run/err
  else
    exec 3> /run/out 4>&3
  fi
  # Not with &, which makes a command ignore SIGINT.
  (start_command) < /dev/null >&3 2>&4 3>&- 4>&- || status=$?
  exec 3>&- 4>&-
  kill_all_but "${copies[@]}"
  wait "${copies[@]}"
  cat /proc/sys/kernel/tainted > "$mine/tainted"
  echo "$status" > "$mine/status.new"
  mv "$mine/status.new" "$mine/status"
}

main() {
  echo "plov-vm-$machine" > /proc/sys/kernel/hostname
  add_rxe
  leave_one_driver
  if [[ -e $share/disks ]]; then modprobe virtio_blk || fail "cannot load virtio_blk"; fi
  : > "$mine/started"
  run_command
}

main; exit
