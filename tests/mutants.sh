#!/usr/bin/env bash
# Makes one mistake after the other in plov and shows what catches it; see --help. A mistake is a
# file tests/mutants/NAME.mutant; tests/mutants/make_tree.py has the format and does the rest of it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$root/build-mutants
binaries=$folder/build
readonly root folder binaries
# shellcheck source=tests/seconds.sh
source "$root/tests/seconds.sh"
jobs=$(nproc)
readonly jobs

# What may catch a mutant, in the order in which it is tried: a name, the target that is built for
# it, and its command in the build folder, where SECONDS stands for the bound. One whose target is
# not there is left out. It has caught a mutant when it ends with 1, by a signal, or not in time.
catchers=(
  "simulator      sim_torture        tests/sim/sim_torture --runs 8000 --search 0"
  "simulator-log  sim_torture        tests/sim/sim_torture --log yes --seconds SECONDS --search 0"
  "verify         verify_test        tests/verify/verify_test"
  "cuckoo         cuckoo_test        tests/cuckoo/cuckoo_test"
  "cuckoo-stores  cuckoo_store_test  tests/cuckoo/cuckoo_store_test"
  "store-stores   server_store_test  tests/server/server_store_test"
  "log            log_test           tests/log/log_test"
  "fabric         fabric_test        tests/fabric/fabric_test"
  "cluster        cluster_test       tests/cluster/cluster_test"
  "server         server_test        tests/server/server_test"
  "service        service_test       tests/service/service_test"
  "warm           server_warm_test   tests/server/server_warm_test"
  "growth         growth_test        tests/client/growth_test"
  "growth-late    growth_late_test   tests/client/growth_late_test"
  "sim            sim_test           tests/sim/sim_test"
  "link           link_test          tests/client/link_test"
  "client         client_test        tests/client/client_test"
  "cluster-client cluster_client_test tests/client/cluster_client_test"
  "cluster-late   cluster_late_test  tests/client/cluster_late_test"
  "torture        plov_torture_cli   torture/plov-torture --duration SECONDS"
  "transactions   plov_torture_cli   torture/plov-torture --transactions --servers 1 --faults pause,stop --duration SECONDS"
  "system         system_test        tests/system/system_test"
  "hostile        hostile_test       tests/hostile/hostile_test"
  "door           plov_door_program  env python3 -B ../tree/tests/door/differential.py server/plovd door/plov-door"
  "door-service   plov_door_program  env python3 -B ../tree/tests/door/service.py server/plovd door/plov-door"
  "door-clocks    plov_door_program  env python3 -B ../tree/tests/door/clocks.py server/plovd door/plov-door"
  "door-redis     plov_door_program  env python3 -B ../tree/tests/door/redis_differential.py server/plovd door/plov-door"
  "door-redis-clients plov_door_program  env python3 -B ../tree/tests/door/redis_clients.py server/plovd door/plov-door"
  "door-redis-transactions plov_door_program  env python3 -B ../tree/tests/door/redis_transactions.py server/plovd door/plov-door"
)
# Programs that the catchers start.
programs=(plovd)

usage() {
  cat << 'END'
usage: tests/mutants.sh [--list | --compile] [--only NAME]... [--for DURATION] [--seconds BOUND]

Makes each mistake of tests/mutants/ in plov and shows what notices it. A copy of the sources in
build-mutants/tree/ has all of them, and the environment variable PLOV_MUTANT chooses one; it is
built in build-mutants/build/. First everything passes without a mistake; then, for each mutant, the
catchers - the simulator, tests, plov-torture - are tried until one notices. Prints a line for each,

  NAME  caught by CATCHER in S.S s

and at last how many were caught. What the catchers printed is in build-mutants/log/.

  --list           prints the mutants, each with what plov does wrong
  --compile        tries none: only compiles each source that some change, with all of them in it
  --only NAME      this one only; may be given again
  --for DURATION   in a random order; those that are not begun within 90s, 10m or 8h are left out
  --seconds BOUND  how long simulator and torture tool may look for one; 10 unless given
  --help           this text

A mutant is a file tests/mutants/NAME.mutant. It says what is wrong, who notices it, and where:

  R1: the hash is taken for the key
  caught by cuckoo Lookup*

  @@ cuckoo/lookup.cc
     // Another key with the same 64-bit hash.
  -  if (item->key != key_) return OnNotHere();
     item_ = *item;

The catcher, with a filter for its tests, is tried first; it may be left out. Then come hunks, one
or more, as in a diff: '-' begins the lines of the right text, '+' those of the wrong one, ' ' those
that stay. tests/mutants/make_tree.py --help says it all.

Exit status: 0 all were caught; 1 one survived, a catcher fails without a mutant, or the text that a
mutant changes is not in the sources exactly once; 2 usage.
END
}

die() {
  echo "mutants: $*" >&2
  exit "${status:-1}"
}

# make_tree ARGUMENT...: what tests/mutants/make_tree.py does and prints.
make_tree() {
  python3 "$root/tests/mutants/make_tree.py" "$@"
}

only=()
for_seconds=0
seconds=10
only_list=false
only_compile=false
while (($# > 0)); do
  case "$1" in
    --list) only_list=true ;;
    --compile) only_compile=true ;;
    --help)
      usage
      exit 0
      ;;
    --only | --seconds | --for)
      if (($# < 2)); then status=2 die "$1 needs a value"; fi
      case "$1" in
        --only) only+=("$2") ;;
        --seconds) seconds=$2 ;;
        --for) for_seconds=$(seconds_of "$2") || status=2 die "--for $2: 90s, 10m or 8h" ;;
      esac
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

# Of each mutant: name, what is wrong, and the catcher and the filter that are tried first.
list=$(make_tree --list) || die "a mutant's file makes no sense"
known_catchers=" ${catchers[*]%% *} "
while IFS=$'\t' read -r name _ catcher _; do
  [[ -z $catcher || $known_catchers == *" $catcher "* ]] ||
    die "$name: there is no catcher $catcher"
done <<< "$list"
if $only_list; then
  awk -F'\t' '{printf "%-24s %s\n", $1, $2}' <<< "$list"
  exit 0
fi
mapfile -t names < <(cut -f1 <<< "$list")
for name in "${only[@]}"; do
  [[ " ${names[*]} " == *" $name "* ]] || status=2 die "there is no mutant $name; see --list"
done
if ((${#only[@]} > 0)); then names=("${only[@]}"); fi
if ((for_seconds > 0)); then mapfile -t names < <(printf '%s\n' "${names[@]}" | shuf); fi

child=""
workers=()
on_exit() {
  trap - EXIT INT TERM
  if [[ -n $child ]]; then kill -TERM "$child" 2> /dev/null || true; fi
  if ((${#workers[@]} > 0)); then kill -TERM "${workers[@]}" 2> /dev/null || true; fi
}
# A subshell calls it, too: it does not inherit traps.
end_with_children() {
  trap on_exit EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}
end_with_children

# waited COMMAND...: its exit status; it is ended when we are.
waited() {
  local status=0
  "$@" < /dev/null &
  child=$!
  wait "$child" || status=$?
  child=""
  return "$status"
}

# Prints a line for each source; the status is not 0 when one does not compile.
compile() {
  make_tree "$folder/tree" || die "the sources cannot be copied with the mutants in them"
  cd "$folder/tree"
  export log=$folder/log
  # The command is for the shell that xargs starts.
  # shellcheck disable=SC2016
  sed -n 's/^@@ \(.*\.cc\)$/\1/p' "$root"/tests/mutants/*.mutant | sort -u | xargs -P "$jobs" -I SOURCE bash -c '
    log=$log/compile.${1//\//-}.log
    if g++ -std=c++23 -fsyntax-only -Wall -Wextra -Werror -DPLOV_VERSION=\"\" -I. -Iclient/include "$1" > "$log" 2>&1; then
      echo "$1 compiles"
    else
      echo "$1 DOES NOT compile: see $log"
      exit 1
    fi' bash SOURCE
}

# Leaves in `catchers` those that this tree has.
build() {
  local log=$folder/log/build.log present=() targets=() name target command known
  mkdir -p "$folder/log"
  make_tree "$folder/tree" || die "the sources cannot be copied with the mutants in them"
  waited cmake -S "$folder/tree" --preset mutants -B "$binaries" > "$log" 2>&1 || die "cannot configure; see $log"
  known=$(cmake --build "$binaries" --target help)
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
  waited cmake --build "$binaries" --parallel "$jobs" --target "${targets[@]}" "${programs[@]}" \
    >> "$log" 2>&1 || die "cannot build; see $log"
}

# try MUTANT NAME COMMAND [LIMIT]: runs one catcher, for so many seconds at most. Leaves the time in
# `took`, in ms; the status is 0 when it has noticed nothing, 1 when it has.
try() {
  local mutant=$1 name=$2 log="$folder/log/$1.$2.log" limit=${4:-600} status=0 begun
  begun=${EPOCHREALTIME/./}
  # The command is not quoted: these are words.
  # shellcheck disable=SC2086
  waited env -C "$binaries" PLOV_MUTANT="${mutant%%-*}" GTEST_FAIL_FAST=1 GTEST_BRIEF=1 \
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

# Without a mutant a catcher passes, or what it says of mutants means nothing. Once for each command;
# what that took, in ms, is left in the file $usual. No mutant has a name that begins with "-".
sound() {
  local name=$1 command=$2 number
  number=$(cksum <<< "$command" | tr ' ' '-')
  usual=$folder/log/usual/$number
  if [[ -s $usual ]]; then return; fi
  try "-$number" "$name" "$command" ||
    die "$name fails without a mutant; see $folder/log/-$number.$name.log"
  echo "$took" > "$usual"
}

# Whether one catcher notices the mutant; prints its line then. A test may take longer beside another
# program, but not many times as long.
noticed() {
  local mutant=$1 name=$2 command=$3 usual
  sound "$name" "$command"
  if try "$mutant" "$name" "$command" $((seconds + 10 * $(< "$usual") / 1000)); then return 1; fi
  printf '%-24s caught by %s in %s s\n' "$mutant" "$name" "$(in_seconds "$took")"
}

# The catcher that is said to notice the mutant, and its command; nothing when none is.
expected_command() {
  local catcher mutant filter name target command
  IFS=$'\t' read -r mutant _ catcher filter < <(grep "^$1"$'\t' <<< "$list")
  while read -r name target command; do
    if [[ $name != "$catcher" ]]; then continue; fi
    echo "$name $command${filter:+ --gtest_filter=$filter}"
  done < <(printf '%s\n' "${catchers[@]}")
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

# Each mutant that no other worker has taken; exits with the number of those that survive.
work() {
  local survivors=0 name
  workers=()
  end_with_children
  for name in "${names[@]}"; do
    if ((for_seconds > 0 && SECONDS > for_seconds)); then break; fi
    if ! mkdir "$folder/log/taken/$name" 2> /dev/null; then continue; fi
    try_mutant "$name" || survivors=$((survivors + 1))
  done
  exit "$survivors"
}

if $only_compile; then
  mkdir -p "$folder/log"
  waited compile
  exit
fi
build
rm -rf "$folder/log/taken" "$folder/log/usual"
mkdir "$folder/log/taken" "$folder/log/usual"
for ((i = 0; i < jobs; ++i)); do
  work &
  workers+=("$!")
done
survivors=0
for id in "${workers[@]}"; do
  status=0
  wait "$id" || status=$?
  survivors=$((survivors + status))
done
workers=()
tried=$(find "$folder/log/taken" -mindepth 1 -maxdepth 1 | wc -l)
echo "$((tried - survivors)) of $tried mutants caught, of ${#names[@]}"
((survivors == 0))
