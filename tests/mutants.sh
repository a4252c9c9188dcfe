#!/usr/bin/env bash
# Removes each safeguard of plov in turn and shows what catches the mistake; see --help.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$root/build-mutants
readonly root folder
jobs=$(nproc)
readonly jobs

# What may catch a mutant, in the order in which it is tried: a name, the target that is built for
# it, and its command in the build folder, where SECONDS stands for the bound. One whose target is
# not there is left out. It has caught a mutant when it ends with 1, by a signal, or not in time.
catchers=(
  "simulator      sim_torture        tests/sim/sim_torture --seconds SECONDS --search 0"
  "verify         verify_test        tests/verify/verify_test"
  "cuckoo         cuckoo_test        tests/cuckoo/cuckoo_test"
  "cuckoo-stores  cuckoo_store_test  tests/cuckoo/cuckoo_store_test"
  "store-stores   server_store_test  tests/server/server_store_test"
  "fabric         fabric_test        tests/fabric/fabric_test"
  "server         server_test        tests/server/server_test"
  "warm           server_warm_test   tests/server/server_warm_test"
  "growth         growth_test        tests/client/growth_test"
  "growth-late    growth_late_test   tests/client/growth_late_test"
  "client         client_test        tests/client/client_test"
  "torture        plov_torture_cli   torture/plov-torture --duration SECONDS"
  "system         system_test        tests/system/system_test"
)
# Who is asked first about what the simulator does not reach - bytes that are damaged or hostile, other
# processes, what takes very long - with the tests that notice: a mutant, a catcher, a filter.
expected=(
  "SplitRecordChecksum verify Record.*"
  "SuperblockChecksum verify Superblock.*"
  "SuperblockSanity verify Superblock.*"
  "ChecksumBits verify Bucket.*"
  "BucketIncarnation verify Seal.*"
  "BucketGeneration verify Seal.*"
  "RecordIncarnation verify Seal.*"
  "InlineLengths verify *BucketFields.*"
  "RecordLengths verify Record.*"
  "MessageChecksum verify Message*"
  "MessageLengths verify Message*"
  "RecordKey cuckoo Lookup*"
  "RecordVersion cuckoo Lookup*"
  "KnownVersion cuckoo Lookup*"
  "KnownKey cuckoo Lookup*"
  "ReferenceInside cuckoo Lookup*"
  "ConfirmationAge cuckoo Lookup*"
  "AllMovedFirst cuckoo GrowingTable*"
  "DamageReported server Damage.*"
  "ConfirmedFirst server ShardGrowth.*"
  "EvictionRemembered server Sessions.*"
  "FormerConnectionEnded server ShardSessions.*"
  "FetchPinned server *StoreChurn.*"
  "HeldKept server ShardGet.*"
  "HeldPinned store-stores StoreMove.*"
  "DeathSeen fabric ShmLife.*"
  "CloseSeen fabric *FabricConformance.Closed*"
  "FetchInside fabric *FabricConformance*"
  "RingLengths fabric *Hostile*"
  "ReadInside fabric *FabricConformance.*"
  "NameHeld fabric ShmLife.*"
  "MoveRewritesHome cuckoo-stores *Interleaving.*"
  "WriterChecksum cuckoo GrowingTable*"
  "WarmRetryRefused server ShardWarm.*"
  "WarmFileHeld server RegionFile.*"
  "LateViewClosed server ShardGrowth.*"
  "SuperblockMirrored verify Superblock.*"
  "SuperblockRedone warm *WarmKill.Recovery*"
  "LiveSetAgain warm *WarmKill.Nothing*"
  "FormerChecksum warm WarmDamage.*"
  "FormerRecordMatched warm WarmCopies.*"
  "LaterCopyStays warm WarmCopies.*"
  "ScanRepeated client Client.AScan*"
  "LocationsForgotten system WarmFile.*"
)
# Programs that the catchers start.
programs=(plovd)

usage() {
  cat << 'END'
usage: tests/mutants.sh [--list] [--only NAME]... [--seconds BOUND]

Builds plov in build-mutants/ so that safeguards can be removed (verify/safeguard.h), sees that
everything passes while all are in place, then removes each in turn and tries the catchers - the
simulator, tests, plov-torture - until one notices. Prints a line for each,

  NAME  caught by CATCHER in S.S s

and at last how many were caught. What the catchers printed is in build-mutants/log/.

  --list           prints the safeguards, each with what plov does without it
  --only NAME      this one only; may be given again
  --seconds BOUND  how long simulator and torture tool may look for one; 20 unless given
  --help           this text

Exit status: 0 all were caught, 1 one survived or a catcher fails without a mutant, 2 usage.
END
}

die() {
  echo "mutants: $*" >&2
  exit "${status:-1}"
}

# safeguards: name, tab, what the mutant does; a line each.
safeguards() {
  sed -nE 's/^  X\(k(\w+), "(.*)"\).*/\1\t\2/p' "$root/verify/safeguard.h"
}

only=()
seconds=20
while (($# > 0)); do
  case "$1" in
    --list)
      safeguards | awk -F'\t' '{printf "%-24s %s\n", $1, $2}'
      exit 0
      ;;
    --help)
      usage
      exit 0
      ;;
    --only | --seconds)
      if (($# < 2)); then status=2 die "$1 needs a value"; fi
      if [[ $1 == --only ]]; then only+=("$2"); else seconds=$2; fi
      shift
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || status=2 die "--seconds $seconds: a number of seconds"

mapfile -t names < <(safeguards | cut -f1)
for name in "${only[@]}"; do
  [[ " ${names[*]} " == *" $name "* ]] || status=2 die "there is no safeguard $name; see --list"
done
if ((${#only[@]} > 0)); then names=("${only[@]}"); fi

child=""
on_exit() {
  trap - EXIT INT TERM
  if [[ -n $child ]]; then kill -TERM "$child" 2> /dev/null || true; fi
}
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# waited COMMAND...: its exit status; it is ended when we are.
waited() {
  local status=0
  "$@" < /dev/null &
  child=$!
  wait "$child" || status=$?
  child=""
  return "$status"
}

# Leaves in `catchers` those that this tree has.
build() {
  local log=$folder/log/build.log present=() targets=() name target command known
  mkdir -p "$folder/log"
  waited cmake -S "$root" -B "$folder" -G Ninja -DPLOV_TESTS=ON -DPLOV_MUTANTS=ON \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc > "$log" 2>&1 ||
    die "cannot configure; see $log"
  known=$(cmake --build "$folder" --target help)
  for catcher in "${catchers[@]}"; do
    read -r name target command <<< "$catcher"
    if ! grep -q "^$target: phony\$" <<< "$known"; then
      echo "$name is left out: there is no target $target"
      continue
    fi
    present+=("$catcher")
    targets+=("$target")
  done
  catchers=("${present[@]}")
  waited cmake --build "$folder" --parallel "$jobs" --target "${targets[@]}" "${programs[@]}" \
    >> "$log" 2>&1 || die "cannot build; see $log"
}

# What a command took while all safeguards were in place, in ms.
declare -A usual

# try MUTANT NAME COMMAND: runs one catcher. Leaves the time in `took`, in ms; the status is 0 when
# it has noticed nothing, 1 when it has.
try() {
  local mutant=$1 name=$2 log="$folder/log/$1.$2.log" status=0 begun limit
  # A test may take longer beside another program, but not many times as long.
  limit=$((seconds + 30 + 5 * ${usual[$3]:-60000} / 1000))
  begun=${EPOCHREALTIME/./}
  # The command is not quoted: these are words.
  # shellcheck disable=SC2086
  waited env -C "$folder" PLOV_MUTANT="${mutant#-}" GTEST_FAIL_FAST=1 GTEST_BRIEF=1 \
    timeout --kill-after=5 "$limit" ${3//SECONDS/$seconds} > "$log" 2>&1 || status=$?
  took=$(((${EPOCHREALTIME/./} - begun) / 1000))
  case $status in
    0 | 4) return 0 ;; # 4: plov-torture has done too little
    1) return 1 ;;
    *)
      if ((status >= 124 && status != 126 && status != 127)); then return 1; fi
      die "$name ended with $status; see $log"
      ;;
  esac
}

in_seconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# Without a mutant a catcher passes, or what it says of mutants means nothing. Once for each.
sound() {
  local name=$1 command=$2
  if [[ -n ${usual[$command]:-} ]]; then return; fi
  try - "$name" "$command" || die "$name fails without a mutant; see $folder/log/-.$name.log"
  usual[$command]=$took
}

# Whether one catcher notices the mutant; prints its line then.
noticed() {
  local mutant=$1 name=$2 command=$3
  sound "$name" "$command"
  if try "$mutant" "$name" "$command"; then return 1; fi
  printf '%-24s caught by %s in %s s\n' "$mutant" "$name" "$(in_seconds "$took")"
}

# The command of the catcher that is said to notice the mutant; nothing when none is.
expected_command() {
  local entry catcher mutant filter name target command
  for entry in "${expected[@]}"; do
    read -r mutant name filter <<< "$entry"
    if [[ $mutant != "$1" ]]; then continue; fi
    for catcher in "${catchers[@]}"; do
      read -r target _ command <<< "$catcher"
      if [[ $target == "$name" ]]; then echo "$name $command --gtest_filter=$filter"; fi
    done
  done
}

# The status is 1 when the mutant survives.
try_mutant() {
  local mutant=$1 catcher name target command
  read -r name command <<< "$(expected_command "$mutant")"
  if [[ -n $name ]] && noticed "$mutant" "$name" "$command"; then return 0; fi
  for catcher in "${catchers[@]}"; do
    read -r name target command <<< "$catcher"
    if noticed "$mutant" "$name" "$command"; then return 0; fi
  done
  printf '%-24s SURVIVED everything\n' "$mutant"
  return 1
}

build
caught=0
for mutant in "${names[@]}"; do
  if try_mutant "$mutant"; then caught=$((caught + 1)); fi
done
echo "$caught of ${#names[@]} mutants caught"
((caught == ${#names[@]}))
