#!/usr/bin/env bash
# Checks a model of the protocol or the log exhaustively with spin, or shows that it needs one of its
# rules; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: tests/model/run.sh [--folder FOLDER] [--trail] MODEL.pml [SWITCH...|all]

Without SWITCH: searches every state of the model, which must have no violation. The search counts
only when it was complete: not cut off by depth, memory or time, and no step left out.
With SWITCH: breaks the rule that the head of the model names so, and a violation must be found.
all: every switch of the model, one after another.

  --folder FOLDER  works in a new folder in FOLDER and not in TMPDIR; removed at the end
  --trail          with SWITCH: looks for the shortest violation, and shows it

Exit status: 0 as it should be, 1 it is not, 2 usage, 77 spin or gcc is not installed.
END
}

fail() {
  echo "model: $*" >&2
  exit 1
}

parent=${TMPDIR:-/tmp}
trail=false
while (($# > 0)); do
  case "$1" in
    --folder)
      parent=$(realpath "${2:-}")
      shift
      ;;
    --trail) trail=true ;;
    --help)
      usage
      exit 0
      ;;
    *) break ;;
  esac
  shift
done
if [[ ${1:-} != *.pml ]]; then
  usage >&2
  exit 2
fi
[[ -r $1 ]] || fail "there is no $1"
model=$(realpath "$1")
shift
name=$(basename "$model" .pml)
readonly model name parent trail
# Limits, not expectations: far above what the models need on a slow machine.
readonly seconds_max=900 memory_mib_max=2000 depth_max=1000000

mapfile -t known < <(sed -n 's/^ \*   switch \([A-Z_0-9]*\) .*/\1/p' "$model")
switches=("$@")
[[ ${1:-} != all ]] || switches=("${known[@]}")
for switch in "${switches[@]}"; do
  [[ " ${known[*]} " == *" $switch "* ]] || fail "$name has no switch $switch"
done

for program in spin gcc; do
  if ! command -v "$program" > /dev/null; then
    echo "model: skipped: $program is not installed"
    exit 77
  fi
done

folder=$(mktemp -d -p "$parent" model.XXXXXX)
readonly folder
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# build SPIN_OPTION... -- GCC_OPTION...: the search, ./pan.
build() {
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  rm -f ./*
  timeout 60 spin -a "${options[@]}" "$model" > spin.log 2>&1 || fail "spin: $(< spin.log)"
  [[ ! -s spin.log ]] || fail "spin: $(< spin.log)"
  timeout 120 gcc -w -DSAFETY -DCOLLAPSE -DMEMLIM="$memory_mib_max" "$@" -o pan pan.c
}

# Pan's exit status is 0 also when it found something.
search() {
  local status=0
  timeout "$seconds_max" ./pan -m"$depth_max" > pan.log 2>&1 || status=$?
  ((status == 0)) || fail "$name: the search ended with $status: $(tail -n 5 pan.log)"
}

# report EXPRESSION: what it matches first in pan's report.
report() {
  sed -nE "s/(^|.*[^0-9])$1.*/\2/p" pan.log | head -n 1
}

complete() {
  local cut_off='not completed|depth too small|MEMLIM|out of memory|truncated|^error'
  grep -q '^Full statespace search' pan.log && ! grep -qiE "$cut_off" pan.log
}

# show_trail SPIN_OPTION...: the steps to the violation, and the state that it is in.
show_trail() {
  grep 'pan:1: ' pan.log
  spin -k "$name.pml.trail" -t -p -g "$@" "$model"
}

check_model() {
  build -- -O2
  local begun=${EPOCHREALTIME/./}
  search
  if ! grep -q 'errors: 0$' pan.log; then
    show_trail | tail -n 100 >&2
    fail "$name: a violation; its end is above"
  fi
  complete || fail "$name: the search was not complete: $(< pan.log)"
  if sed -n '/^unreached/,$p' pan.log | grep ', state ' | grep -v -e '-end-' >&2; then
    fail "$name: the steps above are never made"
  fi
  printf '%s: no violation in %s states, %d ms\n' "$name" "$(report '([0-9]+) states, stored')" \
    $(((${EPOCHREALTIME/./} - begun) / 1000))
}

check_switch() {
  local options=("-D$1" -DOUTSIDE)
  # Breadth first finds the shortest; depth first, with a process's last steps tried first, finds one soon.
  if $trail; then build "${options[@]}" -- -O1 -DBFS; else build "${options[@]}" -- -O1 -DT_REVERSE; fi
  search
  grep -q 'pan:1: assertion violated' pan.log || fail "$name $1: no violation was found"
  printf '%s %s: violation, after %s states\n' "$name" "$1" "$(report '([0-9]+) states, stored')"
  if $trail; then show_trail "${options[@]}"; fi
}

((${#switches[@]} > 0)) || check_model
for switch in "${switches[@]}"; do check_switch "$switch"; done
