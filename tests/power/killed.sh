#!/usr/bin/env bash
# A host that is gone from one moment to the next, with all that its kernel had in memory; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: tests/power/killed.sh [OPTION...] BUILD

Kills the qemu of a virtual machine by SIGKILL while a plovd --log of BUILD is written to, boots the
machine again from the image of its disk, and looks whether all that the writers were told is there.

  --fs ext4|xfs                the file system; ext4
  --commit strict|acked|async  of plovd; strict
  --kills N                    1
  --writes N                   operations of the first of 4 writers before the kill, up to 8000; 200
  --forget dsync|files|names   plovd forgets O_DSYNC, fdatasync or the sync of its folder
                               (forget.cc): passes when that is found out
  --help                       this text

Exit status: 0 nothing is lost; 1 something is, or plovd refused its log, which is shown; 2 usage; 77
there is no virtual machine, or no mkfs, here; else that of tests/vm.sh.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=tests/power/server.sh
source "$here/server.sh"
kills=1
writes=200
life=1 # of the machine

parse() {
  while (($# > 0)); do
    case "$1=${2-}" in
      --help=*)
        usage
        exit 0
        ;;
      --fs=ext4 | --fs=xfs) file_system=$2 ;;
      --commit=strict | --commit=acked | --commit=async) commit=$2 ;;
      --forget=dsync | --forget=files | --forget=names) forget=$2 ;;
      --folder=?*) folder=$2 ;; # from here on: this script calls itself in the machine
      --kills=[1-9]* | --writes=[1-9]* | --life=[1-9]*)
        [[ $2 =~ ^[0-9]{1,4}$ ]] || refuse "$1 takes a number"
        declare -g "${1#--}=$2"
        ;;
      -*) refuse "no option $1 ${2-}" ;;
      *) break ;;
    esac
    shift 2
  done
  [[ $# == 1 && -x $1/server/plovd ]] || refuse "there is no BUILD"
  build=$(realpath "$1")
  readonly file_system commit kills writes forget build
}

# Each life checks the log of the one before, and has a log of its own that its death interrupts.
in_guest() {
  local log=$mounted/log
  prepare_guest
  mount -t "$file_system" /dev/vda "$mounted"
  if ((life > 1)); then
    check_files "$log.$((life - 1))"
    start_server "$log.$((life - 1))" --commit "$commit"
    check "life $life" "$folder/ledger" "$folder/ledger"
    stop_server
    rm -r "$log.$((life - 1))"
  fi
  ((life <= kills)) || exit 0
  start_server "$log.$life" --commit "$commit"
  exec "$build/tests/power/ledger" write "$uri" /dev/vda "$file_system_bytes" 8000 "$commit"
}

# boot: a machine that is in its life $life, in the background.
boot() {
  "$here/../vm.sh" --timeout 300 --disk "$folder/disk" --qemu-id "$folder/qemu" "$here/killed.sh" --life "$life" \
    --fs "$file_system" --commit "$commit" --kills "$kills" --folder "$folder" \
    ${forget:+--forget "$forget"} "$build" 2> "$folder/errors" &
  machine=$!
}

main() {
  local status=0
  parse "$@"
  if [[ -n ${PLOV_VM:-} ]]; then in_guest; fi
  make_folder
  make_disk
  for ((life = 1; life <= kills; ++life)); do
    boot
    written "$folder/disk" "$file_system_bytes" "$writes" "$machine"
    kill -KILL "$(< "$folder/qemu")"
    wait "$machine" || true
    machine=""
    tail -c "$ledger_bytes" "$folder/disk" > "$folder/ledger"
    truncate -s "$file_system_bytes" "$folder/disk"
    truncate -s "$((file_system_bytes + ledger_bytes))" "$folder/disk"
  done
  boot
  wait "$machine" || status=$?
  machine=""
  cat "$folder/errors" >&2
  expect_notice "$status"
  return "$status"
}

main "$@"; exit
