#!/usr/bin/env bash
# Power cuts under the log of plovd, in a virtual machine; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: tests/power/cut.sh [OPTION...] BUILD

Boots a virtual machine (tests/vm.sh) whose qemu logs each write and each flush of a disk
(blklogwrites). On the disk a plovd --log of BUILD is written to, and killed once in between; what
the writers are told is noted at the end of the same disk, so that the log of the disk has both in
order. Then the disk is made anew as it was at CUTS moments: all of it up to a flush, up to any
write, or up to a flush with some of the blocks that were written after it. Of each the file system
is mounted, plov log check and plovd must find no damage, and all that had been promised must be
there, as a prefix of what each shard wrote.

  --fs ext4|xfs                the file system; ext4
  --commit strict|acked|async  of plovd; strict
  --cuts N                     12; each takes about a second
  --writes N                   operations of each of the 4 writers, up to 8000; 300
  --shards N                   of plovd; 1
  --seed N                     of the cuts; a random one, which is printed
  --forget dsync|files|names   plovd forgets O_DSYNC, fdatasync or the sync of its folder
                               (forget.cc): passes when that is found out
  --folder FOLDER              keeps the image and the log of the disk there; when they are there
                               already, only cuts again
  --help                       this text

Exit status: 0 nothing is lost; 1 something is, or plovd refused its log, which is shown; 2 usage;
4 too little was done to mean anything; 77 there is no virtual machine, or no mkfs, here; else that
of tests/vm.sh.
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=tests/power/server.sh
source "$here/server.sh"
cuts=12
writes=300
shards=1
seed=$((RANDOM * 32768 + RANDOM + 1))

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
      --folder=?*) folder=$(realpath -m "$2") ;;
      --cuts=[1-9]* | --writes=[1-9]* | --shards=[1-9]* | --seed=[1-9]*)
        [[ $2 =~ ^[0-9]{1,10}$ ]] || refuse "$1 takes a number"
        declare -g "${1#--}=$2"
        ;;
      -*) refuse "no option $1 ${2-}" ;;
      *) break ;;
    esac
    shift 2
  done
  [[ $# == 1 && -x $1/server/plovd ]] || refuse "there is no BUILD"
  build=$(realpath "$1")
  readonly file_system commit cuts writes shards seed forget build
}

# Writes to a plovd on the logged disk.
record() {
  local writer
  mount -t "$file_system" "$1" "$mounted"
  start_server "$mounted/log" --commit "$commit" --shards "$shards"
  coproc writer_output { exec "$build/tests/power/ledger" write "$uri" "$1" "$file_system_bytes" "$writes" "$commit"; }
  writer=$!
  read -r -u "${writer_output[0]}"
  # async may lose what was acknowledged when it is killed.
  if [[ $commit == async ]]; then stop_server; else kill_server; fi
  start_server "$mounted/log" --commit "$commit" --shards "$shards"
  wait "$writer"
  echo "$file_system $commit: $("$build/client/plov" --server "$uri" stats | grep -E '^(snapshots|log) ' | tr -s ' \n' ' ')"
  stop_server
  if [[ -e $mounted/log/0.1.log ]]; then
    echo "too little: no snapshot took the place of the log's first file; raise --writes"
    exit 4
  fi
  umount "$mounted"
}

in_guest() {
  local arguments=(--seed "$seed" --cuts "$cuts" --fs "$file_system" --commit "$commit" --shards "$shards")
  prepare_guest
  if [[ ! -e $folder/recorded ]]; then
    record /dev/vda
  fi
  modprobe brd rd_nr=1 rd_size=262144
  modprobe dm-snapshot
  exec python3 "$here/replay.py" "${arguments[@]}" "$build" /dev/vda /dev/vdb "$folder/disk.log" "$file_system_bytes"
}

main() {
  parse "$@"
  if [[ -n ${PLOV_VM:-} ]]; then in_guest; fi
  make_folder
  if [[ ! -e $folder/disk.log ]]; then
    make_disk
    cp --sparse=always "$folder/disk" "$folder/blank"
  fi
  cp --sparse=always "$folder/blank" "$folder/cut"
  local log=() status=0
  if [[ -e $folder/disk.log ]]; then : > "$folder/recorded"; else log=(--disk-log "$folder/disk.log"); fi
  echo "cut.sh: --fs $file_system --commit $commit --cuts $cuts --seed $seed"
  "$here/../vm.sh" --timeout "$((600 + 10 * cuts))" --disk "$folder/disk" "${log[@]}" --disk "$folder/cut" \
    "$here/cut.sh" --folder "$folder" --fs "$file_system" --commit "$commit" --cuts "$cuts" --writes "$writes" \
    --shards "$shards" --seed "$seed" ${forget:+--forget "$forget"} "$build" &
  machine=$!
  wait "$machine" || status=$?
  machine=""
  expect_notice "$status"
  return "$status"
}

main "$@"; exit
