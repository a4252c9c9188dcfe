#!/usr/bin/env bash
# Builds plov and runs every test, from any folder, also from a fresh clone; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: tests/run.sh [--quick] [--within DURATION] [--long DURATION] [--packages]

Installs what is missing (tests/install.sh test), then builds and tests plov: with g++ in build/,
as a consumer of the installed tree, with clang++-19 under the address and undefined-behaviour
sanitizers in build-asan/ and under the thread sanitizer in build-tsan/, its parsers with inputs that
libFuzzer makes up in build-fuzz/ (tests/fuzz.sh 20s), and with one mistake after the other in
build-mutants/ (tests/mutants.sh). Logs are in log/ of these folders. Prints one line per stage, the
failed and the skipped tests, and at last the sums. Tests over RDMA run on a device of this machine or
in a virtual machine, and where there is neither that is said last.

  --quick          only g++ and its tests, without virtual machines
  --within DURATION
                   runs all that is likely to fail first, then in a random order as many as there is time for
                   of: the rules that a model cannot do without, power cuts, the virtual machine's own tests,
                   the longer ones over RDMA, and the mutants; runs each fuzz target for 5 seconds, and on a
                   slow machine only one in 2 to 8 of the tests under sanitizers, or those of half of the
                   folders under one sanitizer
  --long DURATION  explores, too: the simulator's worlds from a new seed on, plov-torture with every
                   fault, and each fuzz target, for DURATION (90s, 10m, 8h) each
  --packages       also builds Debian packages of what is committed, twice, and installs, upgrades and
                   purges them in a clean root (tests/packaging/run.sh --twice), as root
  --help           this text

Exit status: 0 nothing failed, 1 something failed, 2 usage.
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
# shellcheck source=tests/seconds.sh
source "$root/tests/seconds.sh"

quick=false
packages=false
within_seconds=0
long_seconds=0
while (($# > 0)); do
  case "$1" in
    --quick) quick=true ;;
    --packages) packages=true ;;
    --within)
      shift
      if ! within_seconds=$(seconds_of "${1-}"); then
        usage >&2
        exit 2
      fi
      ;;
    --long)
      shift
      if ! long_seconds=$(seconds_of "${1-}"); then
        usage >&2
        exit 2
      fi
      ;;
    --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done

readonly quick packages within_seconds long_seconds
jobs=$(nproc)
# Tests wait a fifth of their time: half as many more at a time than there are processors.
test_jobs=$((jobs + jobs / 2))
readonly jobs test_jobs
# Limits, not expectations: what a stage may take on a small machine before it is ended.
readonly install_seconds=1800 build_seconds=3600 test_seconds=3600 consumer_seconds=900
readonly mutant_seconds=3600 fuzz_seconds=1800 package_seconds=3600
# Expected: with less there is no time to try a mutant, or another tenth of what comes later.
readonly mutant_build_seconds=480 later_seconds=240
# With --within: one in so many of the tests under a sanitizer, at least; and the folders with the most of them.
readonly share_max=8
readonly sanitized_folders=(fabric verify cuckoo log cluster service server client hostile system torture sim cli capi python door)

child=""
session=""
begun=0
passed=0
failed=0
skipped=0
summary=()
finished=false

# Prints the ids of the processes that the last stage has started and that still run: a stage is a
# session of its own. ps fails when it finds none.
stage_processes() {
  if [[ -n $session ]]; then
    { ps -s "$session" -o pid=,stat= || true; } | awk '$2 !~ /^Z/ {print $1}'
  fi
}

end_processes() {
  local id
  for id in $(stage_processes); do
    kill -KILL "$id" 2> /dev/null || true
  done
}

# The summary is the last that is said, also by a run that is ended or that ends by mistake.
on_exit() {
  trap - EXIT INT TERM
  if [[ -n $child ]]; then kill -TERM "$child" 2> /dev/null || true; fi
  end_processes
  tell
}
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# begin STAGE: says so, and takes the time.
begin() {
  echo "== $1"
  begun=$SECONDS
}

# record OUTCOME STAGE PASSED FAILED SKIPPED [DETAIL]: one line of the summary.
record() {
  local outcome=$1 stage=$2
  shift 2
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
  summary+=("$(printf '%-8s %-26s %5s s  %s passed, %s failed, %s skipped%s' \
    "$outcome" "$stage" "$((SECONDS - begun))" "$@")")
}

# show LOG: the end of a failed stage's log.
show() {
  echo "--- the end of $1"
  tail -n 60 "$1"
  echo "---"
}

# bounded LOG SECONDS COMMAND...: the command's exit status; 124 when it took too long.
bounded() {
  local log=$1 seconds=$2 status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  setsid timeout --kill-after=30 "$seconds" "$@" > "$log" 2>&1 < /dev/null &
  child=$! session=$!
  wait "$child" || status=$?
  child=""
  if ((status == 124 || status == 137)); then echo "ended after $seconds seconds" >> "$log"; fi
  return "$status"
}

# leave_nothing STAGE: a test that leaves a process behind is a defect of its own.
leave_nothing() {
  local tries left
  for ((tries = 0; tries < 50; ++tries)); do
    left=$(stage_processes)
    if [[ -z $left ]]; then return; fi
    sleep 0.1
  done
  left=$(ps -o args= -p "${left//$'\n'/,}" 2> /dev/null | tr '\n' ';' || true)
  end_processes
  record failed "$1: processes" 0 1 0 "; left running: $left"
}

# step STAGE LOG SECONDS COMMAND...: a stage that is one check; shows its log when it fails.
step() {
  local stage=$1 log=$2 seconds=$3
  shift 3
  begin "$stage"
  if bounded "$log" "$seconds" "$@"; then
    record passed "$stage" 1 0 0
  else
    show "$log"
    record failed "$stage" 0 1 0 "; see $log"
    return 1
  fi
}

# build PRESET FOLDER TESTS: configures and builds a preset, with the tests of these folders. A cache that another generator
# or another place has left is started anew. A compiler that crashes says nothing about the sources: it is asked once more.
build() {
  local preset=$1 folder=$2 tests=$3 fresh=() said=$2/log/compiler.log
  if [[ -f $folder/CMakeCache.txt ]] &&
    ! { grep -qxF 'CMAKE_GENERATOR:INTERNAL=Ninja' "$folder/CMakeCache.txt" &&
      grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; }; then
    fresh=(--fresh)
  fi
  cmake "${fresh[@]}" -S "$root" --preset "$preset" -D "PLOV_TEST_FOLDERS=$tests"
  if cmake --build "$folder" --parallel "$jobs" 2>&1 | tee "$said"; then return; fi
  grep -q 'internal compiler error' "$said" || return 1
  cmake --build "$folder" --parallel "$jobs"
}
export -f build
export root jobs

# run_ctest STAGE PRESET FOLDER [CTEST OPTIONS...]: every test of the preset.
run_ctest() {
  local stage="$1: tests" preset=$2 status=0 counts report="$3/log/ctest.xml" log="$3/log/ctest.log"
  shift 3
  begin "$stage"
  rm -f "$report"
  bounded "$log" "$test_seconds" env -C "$root" ctest --preset "$preset" --parallel "$test_jobs" \
    --output-junit "$report" \
    --test-output-size-passed 100000 --test-output-size-failed 100000 "$@" || status=$?
  counts=$(python3 "$root/tests/junit.py" "$report" 2> /dev/null || echo "0 0 0")
  count_tests "$stage" "$status" "$log" "$counts"
  leave_nothing "$stage"
}

# count_tests STAGE STATUS LOG COUNTS: COUNTS is what tests/junit.py prints.
count_tests() {
  local stage=$1 status=$2 log=$3 good bad passed_over detail line
  read -r good bad passed_over <<< "$4"
  if ((status != 0)); then show "$log"; fi
  if ((status != 0 && bad == 0)); then
    record failed "$stage" "$good" 1 "$passed_over" "; ctest ended with $status, see $log"
  else
    detail=passed
    if ((bad > 0)); then detail=failed; fi
    record "$detail" "$stage" "$good" "$bad" "$passed_over"
  fi
  while IFS= read -r line; do
    if [[ -n $line ]]; then summary+=("           $line"); fi
  done <<< "$(tail -n +2 <<< "$4")"
}

# share NEEDED LEFT: one in how many of the tests that need so many seconds fit into those that are left.
share() {
  local needed=$1 left=$2
  if ((left * share_max < needed)); then echo "$share_max"; else echo $(((needed + left - 1) / left)); fi
}

# variant NAME PRESET FOLDER CXX TESTS NEEDED AFTER [CTEST OPTIONS...]: builds and tests a preset, of all its tests' folders or
# of TESTS. Its tests need so many seconds, and what follows them others: with --within only a share of the tests runs where
# there are fewer left.
variant() {
  local name=$1 preset=$2 folder=$root/$3 cxx=$4 tests=$5 needed=$6 after=$7 of=1
  shift 7
  if ! command -v "$cxx" > /dev/null; then
    record skipped "$name" 0 0 1 "; $cxx is not installed"
    return
  fi
  if step "$name: build" "$folder/log/build.log" "$build_seconds" \
    bash -euo pipefail -c 'build "$@"' build "$preset" "$folder" "$tests"; then
    if ((within_seconds > 0)); then of=$(share "$needed" $((within_seconds - SECONDS - after))); fi
    if ((of > 1)); then
      name+=", 1 in $of"
      set -- "$@" --tests-information "$((RANDOM % of + 1)),,$of"
    fi
    run_ctest "$name" "$preset" "$folder" "$@"
  else
    record skipped "$name: tests" 0 0 1 "; not built"
  fi
}

# What was tested over RDMA, in the last lines, where it is seen: loudly when nothing or not all was.
tell_rdma() {
  local missed=""
  printf '%s\n' "${summary[@]}" | grep -o 'over RDMA: .*' ||
    missed="its tests did not run or are not built"
  missed+=$(printf '%s\n' "${summary[@]}" | sed -n 's/^ *skipped \(rdma\..*\)/\1/p')
  if $quick; then missed="all of it: --quick leaves it out"; fi
  if [[ -n $missed ]]; then
    printf '*** RDMA WAS NOT TESTED: %s\n' "${missed//$'\n'/$'\n'*** RDMA WAS NOT TESTED: }"
  fi
}

tell() {
  echo
  printf '%s\n' "${summary[@]}"
  echo
  echo "$passed passed, $failed failed, $skipped skipped, in $((SECONDS / 60)) min $((SECONDS % 60)) s"
  tell_rdma
  if ! $finished; then echo "*** ENDED EARLY: what has no line above did not run"; fi
}

# counted STAGE LOG SECONDS GOOD BAD COMMAND...: a stage that prints a line for each of its checks;
# GOOD and BAD are patterns of those that passed and failed.
counted() {
  local stage=$1 log=$2 seconds=$3 good_line=$4 bad_line=$5 status=0 good bad detail
  shift 5
  begin "$stage"
  bounded "$log" "$seconds" "$@" || status=$?
  good=$(grep -c "$good_line" "$log" || true)
  bad=$(grep -c "$bad_line" "$log" || true)
  if ((status == 0 && bad == 0 && good > 0)); then
    record passed "$stage" "$good" 0 0 "; $(tail -n 1 "$log")"
  elif ((status == 77)); then
    record skipped "$stage" 0 0 1 "; $(tail -n 1 "$log")"
  else
    show "$log"
    detail=$(grep "$bad_line" "$log" | tr '\n' ';' || true)
    record failed "$stage" "$good" "$((bad > 0 ? bad : 1))" 0 "; $detail see $log"
  fi
  leave_nothing "$stage"
}

consumer() {
  counted consumer "$root/build/log/consumer.log" "$consumer_seconds" '^passed ' '^failed ' \
    bash "$root/tests/consumer/run.sh" "$root/build"
}

packages() {
  counted packages "$root/build/log/packages.log" "$package_seconds" '^passed ' '^failed ' \
    bash "$root/tests/packaging/run.sh" --twice
}

# One line a target; 5 seconds each are enough to see that the corpus still passes, 20 that nothing lies near it.
fuzz() {
  local each=$((long_seconds > 20 ? long_seconds : within_seconds > 0 ? 5 : 20))
  if command -v clang++-19 > /dev/null; then
    counted fuzz "$root/build-fuzz/log/run.log" $((fuzz_seconds + 6 * each)) \
      ', 0 crashes$' ', 1 crashes$' bash "$root/tests/fuzz.sh" "${each}s"
  else
    record skipped fuzz 0 0 1 "; clang++-19 is not installed"
  fi
}

# The tests of the tests: each mutant that is caught has passed.
mutants() {
  local bound=() left
  if ((within_seconds > 0)); then
    left=$((within_seconds - SECONDS))
    if ((left < mutant_build_seconds)); then
      record skipped mutants 0 0 1 "; no time was left of --within: tests/mutants.sh tries them all"
      counted "mutants: compile" "$root/build-mutants/log/compile.log" "$mutant_seconds" ' compiles$' ' DOES NOT compile' \
        bash "$root/tests/mutants.sh" --compile
      return
    fi
    bound=(--for "${left}s")
  fi
  counted mutants "$root/build-mutants/log/run.log" "$mutant_seconds" ' caught by ' ' SURVIVED ' \
    bash "$root/tests/mutants.sh" "${bound[@]}"
}

# The fabric's tests over RDMA, which wait for a virtual machine where there is no device.
sanitized_rdma() {
  [[ -x $root/build-asan/tests/fabric/fabric_verbs_test ]] || return 0
  counted "address,undefined: RDMA" "$root/build-asan/log/rdma.log" "$test_seconds" \
    '^over RDMA, .* 0 failed' '^over RDMA, .* [1-9][0-9]* failed' \
    bash "$root/tests/vm/rdma.sh" conformance "$root/build-asan"
}

# What has the label `later`, a tenth after the other, and the sanitizers' part over RDMA, while there is time.
later() {
  local part since needed=$later_seconds
  for part in $(shuf -i 0-10); do
    since=$SECONDS
    if ((within_seconds - SECONDS < needed)); then
      record skipped later 0 0 1 "; no time was left of --within for all of it: tests/run.sh runs it"
      return
    fi
    if ((part > 0)); then
      run_ctest "g++: later, $part of 10" release "$root/build/later" --label-regex '^later$' \
        --tests-information "$part,,10"
    else
      sanitized_rdma
    fi
    needed=$((SECONDS - since > needed ? SECONDS - since : needed))
  done
}

# sanitized GCC_SECONDS: both builds with sanitizers take as long as g++ did, with their tests. Where there is less than half
# of that time, one is drawn, with the tests of half of the folders.
sanitized() {
  local gcc_seconds=$1 without="" tests=""
  if ((within_seconds > 0 && within_seconds - SECONDS < gcc_seconds / 2)); then
    without=$(shuf -n 1 -e asan tsan)
    tests=$(shuf -n $((${#sanitized_folders[@]} / 2)) -e "${sanitized_folders[@]}" | paste -s -d ';')
    begin "without $without"
    record skipped "without $without" 0 0 1 \
      "; no time was left of --within for all of both sanitizers, only for the tests of ${tests//;/, }: tests/run.sh runs it"
  fi
  if [[ $without != asan ]]; then
    variant "address,undefined" asan build-asan clang++-19 "$tests" $((gcc_seconds / 2)) $((gcc_seconds * 2 / 3))
  fi
  if [[ $without != tsan ]]; then variant thread tsan build-tsan clang++-19 "$tests" $((gcc_seconds / 3)) 0; fi
}

# What finds more the longer it looks.
explore() {
  local log=$root/build/log
  step "simulator, explored" "$log/simulator.log" $((long_seconds + 300)) \
    "$root/build/tests/sim/sim_torture" --seconds "$long_seconds" --seed "$((RANDOM << 15 | RANDOM))000000" || true
  step "simulator with logs, explored" "$log/simulator-log.log" $((long_seconds + 300)) \
    "$root/build/tests/sim/sim_torture" --log yes --seconds "$long_seconds" \
    --seed "$((RANDOM << 15 | RANDOM))000000" || true
  step "plov-torture, explored" "$log/torture.log" $((long_seconds + 300)) \
    "$root/build/torture/plov-torture" --duration "${long_seconds}s" || true
}

# What a variant is, and which tests have nothing for it, is in CMakePresets.json.
main() {
  local left_out='^$' gcc_seconds
  if ((within_seconds > 0)); then left_out='^later$'; fi
  if $quick; then left_out='vm|rdma'; fi
  step install "$root/build/log/install.log" "$install_seconds" \
    bash "$root/tests/install.sh" test || true
  variant g++ release build g++ "" 0 0 --label-exclude "$left_out"
  # With sanitizers the others take as long, and the last one, which has half of the tests, less.
  gcc_seconds=$SECONDS
  if ((long_seconds > 0)); then explore; fi
  if ! $quick; then
    if [[ -f $root/build/build.ninja ]]; then consumer; else
      record skipped consumer 0 0 1 "; not built"
    fi
    sanitized "$gcc_seconds"
    fuzz
    if ((within_seconds == 0)); then sanitized_rdma; elif ((failed == 0)); then later; fi
    mutants
  fi
  if $packages; then packages; fi
  finished=true
  ((failed == 0))
}

main
