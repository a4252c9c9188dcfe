#!/usr/bin/env bash
# Runs a command in a virtual machine that has RDMA; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: tests/vm.sh [OPTION...] COMMAND [ARGUMENT...]
       tests/vm.sh [OPTION...] --two A [ARGUMENT...] -- B [ARGUMENT...]
       tests/vm.sh --prepare

Boots Debian's kernel under qemu (TCG: no KVM is needed), brings up a soft-RoCE device (rdma_rxe),
runs COMMAND as root on this machine's files, and returns its output and its exit status. What it
writes to files stays in the virtual machine and is gone with it. --two boots two machines on one
wire, and runs A in the first and B in the second; their lines of output begin with 1: and 2:.

COMMAND finds the environment of vm.sh, no standard input, and:
  PLOV_VM=1             that it runs in a virtual machine
  PLOV_RDMA_DEVICE      the RDMA device, rxe0
  PLOV_RDMA_ADDRESS     the address of its netdev, for rdma://ADDRESS:PORT
  PLOV_VM_MACHINE       1, in the second machine 2
and with --two:
  PLOV_RDMA_PEER        the address of the other machine
  PLOV_VM_SHARE         a folder that both may write to
  tests/vm/meet NAME    a command that waits until the other machine has called it as well

  --memory MIB          memory of each machine; 1024
  --cpus N              processors of each machine; 2
  --timeout SECONDS     ends each machine, its boot included; 600
  --boot SECONDS        boots machines that have not come up by then once more, and a third time; 120
  --folder FOLDER       where COMMAND runs; the repository's root
  --kernel-log FILE     keeps the kernel's log (with --two FILE.1 and FILE.2)
  --disk FILE           a raw image that is a disk of the machine, the first one /dev/vda; may be
                        repeated, not with --two
  --disk-log LOG        of the --disk before it: each write and flush in order, as dm-log-writes has it
  --qemu-id FILE        qemu's process id, for who kills the machine
  --prepare             only downloads and unpacks what the machine needs
  --help                this text

The kernel, its modules and an initramfs are kept in build/vm, or in PLOV_VM_CACHE; remove it to
have the newest kernel.

Exit status: that of COMMAND (with --two, of the first machine that failed); 2 usage; 77 qemu or
the kernel is missing, which is said; 124 the time was over; 125 the machine did not come up or
died, or its kernel complained (BUG, WARNING, Oops, lock-up, hung task), which is shown.
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
memory=1024
cpus=2
seconds=600
boot_seconds=120
folder=$root
kernel_log=""
disks=() # what qemu is told of them
qemu_id=""
two=false
prepare=false
cache=$(realpath -m "${PLOV_VM_CACHE:-$root/build/vm}")
first=()   # the command of the only or the first machine
second=()  # that of the second one
run=""     # the folder that this run works in
tsc_khz="" # of this machine's time stamp counter, which its guests have too

refuse() {
  echo "vm.sh: $*; see --help" >&2
  exit 2
}

skip() {
  echo "vm.sh: skipped: $*" >&2
  exit 77
}

# add_disk FILE: in qemu's options a comma is written twice.
add_disk() {
  local name=disk$((${#disks[@]} / 4))
  [[ -f $1 ]] || refuse "there is no file $1"
  disks+=(-blockdev "driver=raw,node-name=$name,file.driver=file,file.filename=${1//,/,,}"
    -device "virtio-blk-pci,drive=$name,discard=off,write-zeroes=off")
}

# log_disk LOG: of the last disk. It is the log that tells what a flush was for; the host's disk need
# not be waited for.
log_disk() {
  ((${#disks[@]} > 0)) || refuse "--disk-log comes after a --disk"
  local options=${disks[-3]#driver=raw,},file.cache.no-flush=on
  : > "$1" || refuse "cannot write to $1"
  disks[-3]="driver=blklogwrites,$options,log.driver=file,log.filename=${1//,/,,},log.cache.no-flush=on"
}

# Sets what the options and commands say.
parse() {
  while (($# > 0)); do
    case "$1" in
      --help)
        usage
        exit 0
        ;;
      --two) two=true ;;
      --prepare) prepare=true ;;
      --memory | --cpus | --timeout | --boot | --folder | --kernel-log | --disk | --disk-log | --qemu-id)
        (($# > 1)) || refuse "$1 takes an argument"
        if [[ $1 == --[mctb]* && ! $2 =~ ^[1-9][0-9]{0,5}$ ]]; then
          refuse "$1 takes a number from 1 to 999999"
        fi
        case "$1" in
          --memory) memory=$2 ;;
          --cpus) cpus=$2 ;;
          --timeout) seconds=$2 ;;
          --boot) boot_seconds=$2 ;;
          --folder) folder=$(realpath -e "$2") || refuse "there is no folder $2" ;;
          --kernel-log) kernel_log=$(realpath -m "$2") ;;
          --qemu-id) qemu_id=$(realpath -m "$2") ;;
          --disk) add_disk "$(realpath -m "$2")" ;;
          --disk-log) log_disk "$(realpath -m "$2")" ;;
        esac
        shift
        ;;
      -*) refuse "no option $1" ;;
      *) break ;;
    esac
    shift
  done
  if $two; then
    ((${#disks[@]} == 0)) || refuse "--disk does not go together with --two"
    while (($# > 0)) && [[ $1 != -- ]]; do
      first+=("$1")
      shift
    done
    second=("${@:2}")
    ((${#first[@]} > 0 && ${#second[@]} > 0)) || refuse "--two takes A -- B"
  else
    first=("$@")
    $prepare || ((${#first[@]} > 0)) || refuse "there is no COMMAND"
  fi
  readonly root memory cpus seconds boot_seconds folder kernel_log disks qemu_id two prepare cache
}

# Ends with 77 where there can be no machine.
require_programs() {
  local program
  [[ $(uname -m) == x86_64 ]] || skip "this is no x86-64 machine"
  for program in qemu-system-x86_64 apt-get dpkg-deb xz ip python3 rdma depmod modprobe; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" > /dev/null ||
      skip "$program is not installed; run as root: tests/install.sh test"
  done
}

machines=() # the process id of each machine's qemu
followers=()
statuses=() # of each machine's qemu, by its number, from 1

# shellcheck disable=SC2317 # The trap reaches it.
on_exit() {
  trap - EXIT INT TERM HUP
  local id
  for id in "${machines[@]}"; do kill -TERM "$id" 2> /dev/null || true; done
  for id in "${followers[@]}"; do kill -TERM "$id" 2> /dev/null || true; done
  wait
  if [[ -n $run ]]; then rm -rf "$run"; fi
}
trap on_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# follow MACHINE STREAM: shows what the machine writes, until it ends.
follow() {
  local follower=(tail -q -c +1 -s 0.1 --pid="${machines[-1]}" -f "$run/share/$1/$2")
  if $two; then "${follower[@]}" | sed -u "s/^/$1: /"; else exec "${follower[@]}"; fi
}

# What qemu is told of the wire of machine $1: a socket that the first machine listens on.
wire_options() {
  local server=off
  if (($1 == 1)); then server=on; fi
  echo -netdev "stream,id=wire,server=$server,addr.type=unix,addr.path=wire" \
    -device "virtio-net-pci,netdev=wire,mac=52:54:00:99:00:0$1,romfile="
}

# Without "enhanced rep movsb": with it the kernel copies a READ's reply by that instruction, which
# TCG carries out byte by byte, so that a word which is written meanwhile can arrive torn. Cards, and
# processors, move words; without it the kernel copies by words, as they do.
readonly processor=max,-erms,-fsrm

# boot MACHINE: becomes its qemu. An overloaded host is not a lock-up of the guest, and gets time. Where it may it goes
# before other tests, which are over before the last machine is.
boot() {
  local wire=() id=() arguments=(console=ttyS0 loglevel=5 printk.devkmsg=on mitigations=off
    cryptomgr.notests no_timer_check tsc=reliable rcupdate.rcu_expedited=1 rcupdate.rcu_cpu_stall_timeout=120
    oops=panic panic=-1 reboot=t watchdog_thresh=60 sysctl.kernel.hung_task_timeout_secs=120
    "plov_machine=$1")
  if [[ -n $tsc_khz ]]; then arguments+=("tsc_early_khz=$tsc_khz"); fi
  if $two; then read -ra wire < <(wire_options "$1"); fi
  if [[ -n $qemu_id ]]; then id=(-pidfile "$qemu_id"); fi
  cd "$run"
  exec nice -n -5 setpriv --pdeathsig TERM timeout --kill-after=5 "$seconds" \
    qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu "$processor" -m "$memory" -smp "$cpus" \
    -nodefaults -no-user-config -no-reboot -display none -serial "file:console.$1" \
    -kernel "$cache/vmlinux" -initrd "$cache/initramfs" -append "${arguments[*]}" \
    -fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
    -device virtio-9p-pci,fsdev=root,mount_tag=root \
    -fsdev local,id=share,path=share,security_model=none \
    -device virtio-9p-pci,fsdev=share,mount_tag=share \
    "${disks[@]}" "${id[@]}" "${wire[@]}" < /dev/null > "qemu.$1" 2>&1
}

# start MACHINE COMMAND...
start() {
  local number=$1 mine=$run/share/$1
  shift
  mkdir "$mine"
  : > "$run/console.$number"
  printf '%q ' exec "$@" > "$mine/command"
  export -p > "$mine/environment"
  echo "$folder" > "$mine/folder"
  : > "$mine/out"
  # One stream keeps the order of what was one stream outside.
  if ! [[ /dev/fd/1 -ef /dev/fd/2 ]]; then : > "$mine/err"; fi
  boot "$number" &
  machines+=($!)
  follow "$number" out &
  followers+=($!)
  if [[ -e $mine/err ]]; then
    follow "$number" err >&2 &
    followers+=($!)
  fi
}

# Boots the machines that the run has, from empty folders.
start_all() {
  rm -rf "$run/share" "$run/wire"
  machines=() followers=()
  mkdir "$run/share" "$run/share/both"
  if $two; then : > "$run/share/two"; fi
  if ((${#disks[@]} > 0)); then : > "$run/share/disks"; fi
  echo "$cache/modules" > "$run/share/modules"
  echo "$root/tests/vm/guest.sh" > "$run/share/guest"
  start 1 "${first[@]}"
  if $two; then
    # The second machine plugs into the socket of the first.
    while [[ ! -S $run/wire ]] && kill -0 "${machines[0]}" 2> /dev/null; do sleep 0.05; done
    start 2 "${second[@]}"
  fi
}

# are_up: waits until each machine has begun its command or has ended; false when its time to boot is over.
are_up() {
  local machine end=$((SECONDS + boot_seconds))
  for machine in "${!machines[@]}"; do
    while [[ ! -e $run/share/$((machine + 1))/started ]] && kill -0 "${machines[machine]}" 2> /dev/null; do
      ((SECONDS < end)) || return 1
      sleep 0.1
    done
  done
}

end_all() {
  kill -TERM "${machines[@]}" 2> /dev/null || true
  wait "${machines[@]}" "${followers[@]}" || true
}

# Waits until every machine has ended, and sets `statuses` to those of their qemus.
await() {
  local -A numbers=() # of the machines that run, by process id
  local id status
  for id in "${machines[@]}"; do numbers[$id]=$((${#numbers[@]} + 1)); done
  while ((${#numbers[@]} > 0)); do
    status=0
    wait -n -p id "${!numbers[@]}" || status=$?
    statuses[${numbers[$id]}]=$status
    : > "$run/share/both/ended.${numbers[$id]}"
    unset "numbers[$id]"
  done
  for id in "${followers[@]}"; do wait "$id" || true; done
}

complaints='BUG:|WARNING:|Oops|soft lockup|hard LOCKUP|blocked for more than|detected stall'
complaints+='|Kernel panic|general protection fault|Out of memory:|refcount_t:|UBSAN|KASAN'
readonly complaints
# Bits of /proc/sys/kernel/tainted: a bad page, an oops, a warning, a soft lock-up.
readonly taints=$((1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))

# judge MACHINE STATUS: sets `verdict`. STATUS is its qemu's.
judge() {
  local mine=$run/share/$1 log=$run/kernel.$1 who="vm.sh: machine $1" suffix=""
  if $two; then suffix=.$1; fi
  # A console ends its lines as a terminal does.
  tr -d '\r' < "$run/console.$1" > "$log"
  verdict=125
  if [[ -n $kernel_log ]]; then cp "$log" "$kernel_log$suffix"; fi
  if (($2 == 124 || $2 == 137)); then
    verdict=124
    echo "$who: ended after $seconds seconds" >&2
  fi
  if grep -aE -m 1 -A 40 -e "$complaints" "$log" > "$run/complaint"; then
    verdict=125
    echo "$who: its kernel complains:" >&2
    cat "$run/complaint" >&2
  elif [[ -s $mine/tainted ]] && (($(< "$mine/tainted") & taints)); then
    verdict=125
    echo "$who: its kernel is tainted: $(< "$mine/tainted")" >&2
  elif [[ -s $mine/status ]]; then
    verdict=$(< "$mine/status")
  elif [[ $verdict != 124 || ! -e $mine/started ]]; then
    echo "$who: did not come up, or died (qemu: $2) $(cat "$mine/problem" "$run/qemu.$1" 2> /dev/null || true)" >&2
    tail -n 20 "$log" >&2
  fi
}

main() {
  local result=0 number tries
  parse "$@"
  require_programs
  bash "$root/tests/vm/kernel.sh" "$cache" || exit
  if $prepare; then exit 0; fi
  tsc_khz=$(python3 "$root/tests/vm/tsc_khz.py" 2> /dev/null || true)
  run=$(mktemp -d -p "${TMPDIR:-/tmp}" plov-vm.XXXXXX)
  readonly run
  start_all
  # An emulated kernel sometimes stands still for ever while it boots.
  for tries in 1 2; do
    if are_up; then break; fi
    end_all
    echo "vm.sh: boot $tries of 3 was not over after $boot_seconds seconds" >&2
    start_all
  done
  await
  for number in "${!statuses[@]}"; do
    judge "$number" "${statuses[number]}"
    if ((result == 0)); then result=$verdict; fi
  done
  return "$result"
}

# All of it has been read before it starts, so that a change of this file does not reach a run.
main "$@"; exit
