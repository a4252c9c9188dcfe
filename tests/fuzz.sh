#!/usr/bin/env bash
# Feeds every parser of bytes that others write with what libFuzzer makes up; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: tests/fuzz.sh [--keep] [--only TARGET] DURATION

Builds the targets of tests/fuzz with clang++-19, under the address and undefined-behaviour
sanitizers, in build-fuzz/, and runs each for DURATION (30s, 10m, 2h), as many at a time as there are
cores. They begin with tests/fuzz/corpus/TARGET and with what former runs found
(build-fuzz/corpus/TARGET). Prints a line a target: inputs run, corpus size, crashes.

  --keep         merges what was found into tests/fuzz/corpus: the fewest inputs that reach as much
  --only TARGET  message, hello, superblock, warm, config, load, log_batch, snapshot, cluster, cluster_map, stream,
                 transaction, vector, memcached, memcached_binary or redis
  --help         this text

Exit status: 0 no crash, 1 a crash (with the command that shows it again) or no build, 2 usage.
END
}

readonly all_targets=(message hello superblock warm config load log_batch snapshot cluster cluster_map stream transaction vector memcached memcached_binary redis)
targets=("${all_targets[@]}")
keep=false
duration=""
while (($# > 0)); do
  case "$1" in
    --help)
      usage
      exit 0
      ;;
    --keep) keep=true ;;
    --only)
      shift
      targets=("${1-}")
      ;;
    *) duration=$1 ;;
  esac
  shift
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
# shellcheck source=tests/seconds.sh
source "$root/tests/seconds.sh"
if ! seconds=$(seconds_of "$duration") || [[ " ${all_targets[*]} " != *" ${targets[0]} "* ]]; then
  usage >&2
  exit 2
fi
readonly folder=$root/build-fuzz seeds=$root/tests/fuzz/corpus
# An input that takes longer, or a target that takes more memory, is a crash as well.
readonly input_seconds=20 memory_mib=2048
# How long an input may become; none of the formats has anything new to say beyond.
declare -A bytes_max=([message]=1024 [hello]=64 [superblock]=512 [warm]=256 [config]=512 [load]=512
  [log_batch]=512 [snapshot]=256 [cluster]=1024 [cluster_map]=512 [stream]=512 [transaction]=512 [vector]=384 [memcached]=512
  [memcached_binary]=512 [redis]=512)
# Large buffers that were freed are not to be remembered by the gigabyte.
export ASAN_OPTIONS=quarantine_size_mb=16

build() {
  cmake -S "$root" -B "$folder" -G Ninja -DPLOV_FUZZ=ON -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_C_COMPILER=clang-19 &&
    cmake --build "$folder" --target fuzz_targets
}

# One target, for DURATION; its exit status is libFuzzer's.
fuzz() {
  local target=$1
  mkdir -p "$folder/corpus/$target" "$folder/crashes" "$seeds/$target"
  exec timeout --kill-after=10 $((seconds + 120)) "$folder/tests/fuzz/fuzz_$target" \
    -max_total_time="$seconds" -timeout="$input_seconds" -rss_limit_mb="$memory_mib" \
    -max_len="${bytes_max[$target]}" -len_control=0 -print_final_stats=1 \
    -artifact_prefix="$folder/crashes/$target-" "$folder/corpus/$target" "$seeds/$target" \
    > "$folder/log/$target.log" 2>&1
}

# tell TARGET STATUS: the line of a target that has ended, and how to see its crash again.
tell() {
  local log=$folder/log/$1.log runs crash
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  crash=$(sed -n 's/^.*Test unit written to //p' "$log" | tail -n 1)
  printf '%-10s %9s runs, corpus of %4s, %s crashes\n' "$1" "${runs:-0}" \
    "$(find "$folder/corpus/$1" "$seeds/$1" -type f | wc -l)" "$(($2 == 0 ? 0 : 1))"
  if (($2 == 0)); then return; fi
  grep -m 3 -E '^property|ERROR:|runtime error:|ALARM|SUMMARY' "$log" | sed 's/^/           /' || true
  echo "           again: build-fuzz/tests/fuzz/fuzz_$1 ${crash:-(no input was written: see $log)}"
}

merge() {
  local fresh=$folder/merged/$1
  rm -rf "$fresh" && mkdir -p "$fresh"
  "$folder/tests/fuzz/fuzz_$1" -merge=1 -max_len="${bytes_max[$1]}" "$fresh" "$seeds/$1" \
    "$folder/corpus/$1" > "$folder/log/merge-$1.log" 2>&1
  rm -rf "${seeds:?}/$1" && cp -r "$fresh" "$seeds/$1"
}

mkdir -p "$folder/log"
if ! command -v clang++-19 > /dev/null; then
  echo "clang++-19 is not installed: tests/install.sh test" >&2
  exit 1
fi
if ! build > "$folder/log/build.log" 2>&1; then
  tail -n 40 "$folder/log/build.log" >&2
  exit 1
fi

# As many at a time as there are cores; `wait -n -p` names the one that has ended.
declare -A running=()
status=0
end_one() {
  local id result=0
  wait -n -p id "${!running[@]}" || result=$?
  tell "${running[$id]}" "$result"
  if ((result != 0)); then status=1; fi
  unset "running[$id]"
}
trap 'kill "${!running[@]}" 2> /dev/null || true' EXIT
for target in "${targets[@]}"; do
  if ((${#running[@]} >= $(nproc))); then end_one; fi
  fuzz "$target" &
  running[$!]=$target
done
while ((${#running[@]} > 0)); do end_one; done
if $keep && ((status == 0)); then
  for target in "${targets[@]}"; do merge "$target"; done
fi
exit "$status"
