# shellcheck shell=bash
# What the scripts of tests/power share: a plovd with a small log, and the folder of the disks.

self=$(basename "$0")
readonly self
# XFS takes no less. The ledger is behind it.
readonly file_system_bytes=$((320 << 20)) ledger_bytes=$((2 << 20))
readonly uri=shm:/run/plov-power mounted=/run/plov-power-disk
# What options set.
build=""
file_system=ext4
commit=strict
forget=""
folder=""  # of the disks
server=""  # the plovd
machine="" # the vm.sh that runs in the background

refuse() {
  echo "$self: $*; see --help" >&2
  exit 2
}

# expect_notice STATUS: ends this script if plovd was to forget something.
expect_notice() {
  [[ -n $forget ]] || return 0
  if (($1 > 1)); then exit "$1"; fi
  echo "$self: that plovd forgot --forget $forget was $( (($1 == 1)) || echo "not ")found out"
  exit "$((1 - $1))"
}

# require PROGRAM
require() {
  PATH=$PATH:/usr/sbin:/sbin
  command -v "$1" > /dev/null && return
  echo "$self: skipped: $1 is not installed; run as root: tests/install.sh test" >&2
  exit 77
}

# Sets `folder` to one that goes with this process, unless it is there.
make_folder() {
  if [[ -n $folder ]]; then
    mkdir -p "$folder"
    return
  fi
  folder=$(mktemp -d -p "${TMPDIR:-/tmp}" plov-power.XXXXXX)
  trap 'if [[ -n $machine ]]; then kill -TERM "$machine"; wait "$machine"; fi; rm -rf "$folder"' EXIT
}

prepare_guest() {
  export DM_DISABLE_UDEV=1 # There is no udev, so dmsetup makes the device files.
  mkdir -p "$mounted"
}

# start_server DIR OPTION...: returns when it serves. It forgets $forget, if anything.
start_server() {
  local forgetting=()
  if [[ -n $forget ]]; then
    forgetting=(env "PLOV_FORGETS=$forget" "LD_PRELOAD=$build/tests/power/libforget.so")
  fi
  : > /run/plovd
  "${forgetting[@]}" "$build/server/plovd" --listen "$uri" --memory 64M --max-clients 50 \
    --log-segment 1M --log-interval 100ms --log "$@" > /run/plovd 2>&1 &
  server=$!
  until grep -qx "plovd: ready on $uri" /run/plovd; do
    kill -0 "$server" 2> /dev/null || fail "plovd does not start: $(< /run/plovd)"
    sleep 0.05
  done
}

fail() {
  echo "failed: $*"
  exit 1
}

stop_server() {
  kill -TERM "$server"
  wait "$server"
}

kill_server() {
  kill -KILL "$server"
  { wait "$server" || true; } 2> /dev/null # The shell says that it was killed.
}

# check_files DIR: those of a log that no server has.
check_files() {
  local status=0 said
  said=$("$build/client/plov" log check "$1" 2>&1) || status=$?
  ((status <= 1)) || fail "plov log check: $said" # 1: a torn tail
}

# check NAME THEN ALL: what is served, by the ledger when the power went and by all of it.
check() {
  local said
  said=$("$build/tests/power/ledger" check "$uri" "$2" 0 "$3" "$commit" 2>&1) || fail "$1: $said"
  echo "$1: $said"
}

# written LEDGER OFFSET NUMBER ID: waits until the first writer has begun that operation, or fails
# when the process ID is gone.
written() {
  local at=$(($2 + ($3 - 1) * 32)) # ledger.h: a record has 32 bytes, and begins with its number
  until (($(od -An -tu8 -j "$at" -N 8 "$1") == $3)); do
    kill -0 "$4" 2> /dev/null || fail "the writers have ended: $(cat "$folder/errors" 2> /dev/null)"
    sleep 0.05
  done
}

# Makes the image $folder/disk: the file system, which is made here so that a log of the disk begins
# with its first mount, and the ledger.
make_disk() {
  require "mkfs.$file_system"
  truncate -s "$((file_system_bytes + ledger_bytes))" "$folder/disk"
  if [[ $file_system == ext4 ]]; then
    mkfs.ext4 -q -b 4096 "$folder/disk" "$((file_system_bytes / 4096))"
  else
    mkfs.xfs -q -d "size=$file_system_bytes" "$folder/disk"
  fi
}
