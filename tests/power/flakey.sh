#!/usr/bin/env bash
# A disk under the log of plovd that fails, and one that lies before the power goes; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: tests/power/flakey.sh BUILD

In a virtual machine (tests/vm.sh), on dm-flakey, while a plovd --log --commit strict of BUILD is
written to:

  cut     ext4, then xfs: the disk drops all writes, though it says that they are done, from one
          moment on. When the file system is mounted again without, all that was promised before is
          there.
  mends   xfs whose files lie on a disk of their own (a realtime device), so that nothing but plovd
          meets its errors: writes are refused with the reason, GETs go on; when the disk takes
          writes again so does plovd by itself, and nothing is lost.
  broken  ext4 on a disk that fails, which makes it read-only for good: writes are refused with the
          reason, GETs go on; mounted again when the disk is well, it has all that was promised.

Exit status: 0 passed; 1 failed; 2 usage; 77 there is no virtual machine, or no dmsetup or mkfs,
here; else that of tests/vm.sh.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=tests/power/server.sh
source "$here/server.sh"
readonly sectors=$((file_system_bytes / 512)) ledger=/dev/ram1 then=/run/plov-power-then
writer=""

plov() { "$build/client/plov" --server "$uri" "$@"; }

# disk well|drops|fails: what /dev/mapper/flakey is from now on. $then gets the ledger as it is when
# the disk stands still in between: what is promised there has been written.
disk() {
  local table="0 $sectors flakey /dev/ram0 0"
  case "$1" in
    well) table+=" 3600 0" ;;
    drops) table+=" 0 3600 1 drop_writes" ;;
    fails) table+=" 0 3600 1 error_writes" ;;
  esac
  if [[ ! -e /dev/mapper/flakey ]]; then
    dmsetup create flakey --table "$table"
    return
  fi
  dmsetup suspend --nolockfs flakey
  head -c "$ledger_bytes" "$ledger" > "$then"
  dmsetup load flakey --table "$table"
  dmsetup resume flakey
}

# begin OPERATIONS: a server and writers, of which each has so many operations to do.
begin() {
  head -c "$ledger_bytes" /dev/zero > "$ledger" # that of the case before
  start_server "$mounted/log" --commit "$commit"
  "$build/tests/power/ledger" write "$uri" "$ledger" 0 "$1" "$commit" > /run/writer 2>&1 &
  writer=$!
}

# How many the first writer has begun.
operations() {
  od -An -v -tu8 -w32 -N "$ledger_bytes" "$ledger" | awk '$1 != NR {print NR - 1; exit}'
}

# cut FILE_SYSTEM OVERWRITES: the option by which its mkfs overwrites another one.
cut() {
  disk well
  "mkfs.$1" -q "$2" /dev/mapper/flakey
  mount /dev/mapper/flakey "$mounted"
  begin 8000
  written "$ledger" 0 100 "$writer"
  disk drops
  written "$ledger" 0 "$(($(operations) + 50))" "$writer" # The disk lies to plovd, and plovd to its clients.
  kill -KILL "$writer"
  { wait "$writer" || true; } 2> /dev/null
  kill_server
  umount "$mounted"
  dmsetup remove flakey
  mount /dev/ram0 "$mounted"
  check_files "$mounted/log"
  start_server "$mounted/log" --commit "$commit"
  check "cut $1" "$then" "$ledger"
  stop_server
  umount "$mounted"
}

# Writes are refused with a reason, and GETs go on.
expect_refusals() {
  local said
  until plov stats --json | grep -q '"log_failed":1'; do sleep 0.1; done
  if said=$(plov put probe value 2>&1); then fail "a write was taken"; fi
  echo "$1: $said; $(grep -m 1 -F "$mounted/log" <<< "$(tail -n +2 /run/plovd)" || true)"
  [[ $said == *"cannot write its log"* ]] || fail "the client is told no reason"
  grep -F "$mounted/log" /run/plovd | grep -qE "Input/output error|Read-only file system" ||
    fail "plovd's log tells no reason: $(< /run/plovd)"
  [[ $(plov get kept) == value ]] || fail "a GET does not go on"
}

mends() {
  disk well
  mkfs.xfs -q -f -d rtinherit=1 -r rtdev=/dev/mapper/flakey /dev/ram2
  mount -o rtdev=/dev/mapper/flakey /dev/ram2 "$mounted"
  begin 1000 # More than are done while the disk is being changed.
  plov put kept value
  written "$ledger" 0 100 "$writer"
  disk fails
  expect_refusals mends
  disk well
  wait "$writer" || fail "the writers: $(< /run/writer)"
  plov delete kept
  plov stats --json | grep -q '"log_failed":0' || fail "log_failed is not 0"
  check "mends, alive" "$ledger" "$ledger"
  kill_server
  check_files "$mounted/log"
  start_server "$mounted/log" --commit "$commit"
  check "mends, killed" "$ledger" "$ledger"
  stop_server
  umount "$mounted"
  dmsetup remove flakey
}

broken() {
  disk well
  mkfs.ext4 -q -F /dev/mapper/flakey
  mount /dev/mapper/flakey "$mounted"
  begin 8000
  plov put kept value
  written "$ledger" 0 100 "$writer"
  disk fails
  expect_refusals broken
  kill -KILL "$writer"
  { wait "$writer" || true; } 2> /dev/null
  disk well
  kill_server
  umount "$mounted"
  mount /dev/mapper/flakey "$mounted"
  check_files "$mounted/log"
  start_server "$mounted/log" --commit "$commit"
  plov delete kept
  check broken "$ledger" "$ledger"
  stop_server
  umount "$mounted"
  dmsetup remove flakey
}

main() {
  local need
  if [[ ${1-} == --help ]]; then
    usage
    exit 0
  fi
  [[ $# == 1 && -x $1/server/plovd ]] || refuse "there is no BUILD"
  build=$(realpath "$1")
  for need in dmsetup mkfs.ext4 mkfs.xfs; do require "$need"; done
  if [[ -z ${PLOV_VM:-} ]]; then exec "$here/../vm.sh" --memory 2048 --timeout 300 "$here/flakey.sh" "$build"; fi
  prepare_guest
  modprobe brd rd_nr=3 "rd_size=$((file_system_bytes / 1024))"
  modprobe dm-flakey
  cut ext4 -F
  cut xfs -f
  mends
  broken
}

main "$@"; exit
