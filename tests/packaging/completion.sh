#!/usr/bin/env bash
# What bash completes of each program is what its --help has. Called with the paths of plovd, plov,
# plov-torture and plov-bench.
# shellcheck disable=SC2207
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
library=/usr/share/bash-completion/bash_completion
if [[ ! -e $library ]]; then
  echo "skipped: bash-completion is not installed"
  exit 77
fi
set +eu
# shellcheck source=/dev/null
source "$library"
# shellcheck source=program/completion.bash
source "$here/../../program/completion.bash"

work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/folder"
: > "$work/file"
cd "$work" || exit 1
failures=0

compopt() { :; } # is for a completion that a key has called

# complete_words WORD...: sets COMPREPLY for the last of them, as bash would, which splits words at : and =.
complete_words() {
  COMP_LINE=$* COMP_POINT=${#COMP_LINE} COMPREPLY=()
  COMP_WORDS=("$1" $(printf '%s\n' "${@:2}" | sed -E 's/([:=])/ \1 /g'))
  if [[ -z ${!#} || ${!#} == *[:=] ]]; then COMP_WORDS+=(""); fi
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _plov "$1" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
}

fail() {
  echo "FAILED: $*: ${COMPREPLY[*]}"
  failures=$((failures + 1))
}

sorted() { tr ' ' '\n' <<< "$*" | sort -u; }

# offers WANTED WORD...: exactly that, in any order.
offers() {
  local wanted=$1
  shift
  complete_words "$@"
  [[ $(sorted "${COMPREPLY[*]}") == "$(sorted "$wanted")" ]] ||
    fail "${*##*/} is not completed by '$wanted' but"
}

# every_option WORD...: each option that the help of these words describes is completed behind them.
every_option() {
  local option
  complete_words "$@" --
  for option in $("$@" --help | grep -oE '^  (-[a-zA-Z] \[ )?--[a-z-]+' | grep -oE -e '--[a-z-]+'); do
    [[ " ${COMPREPLY[*]} " == *" $option "* ]] || fail "${*##*/} $option is missing in"
  done
  ((${#COMPREPLY[@]} > 0)) || fail "${*##*/} has no options"
}

# On one line.
commands_of() { "$1" --help | sed -n '/^Commands/,/^$/p' | grep -oE '^  [a-z]+' | tr -d ' ' | paste -sd ' '; }

plovd=$1 plov=$2 torture=$3 bench=$4

every_option "$plovd"
every_option "$torture"
every_option "$torture" check
plov_commands=$(commands_of "$plov")
offers "$plov_commands" "$plov" ""
for command in $plov_commands; do every_option "$plov" "$command"; done
offers "--server --timeout --wait --read-from --max-age --json --version --help" "$plov" --
commands=$(commands_of "$bench")
offers "$commands" "$bench" ""
for command in $commands; do every_option "$bench" "$command"; done
offers "--help --version" "$bench" --
offers check "$torture" c

offers "strict acked async" "$plovd" --commit ""
offers "acked async" "$plovd" --commit a
offers "acked async" "$plovd" --commit=a
offers "auto" "$torture" --bucket-bytes a
offers "shm" "$bench" fabric --fabric s
offers "folder file" "$plovd" --config f
offers "stderr" "$plovd" --log-output s
offers "folder file" "$plovd" --log-output f
offers "folder" "$plovd" --log f
offers "static:" "$plovd" --cluster s
offers "folder file" "$plovd" --cluster "static:f"
offers "folder file" "$plov" load f
offers "folder" "$plov" backup f
offers "folder" "$plov" backup folder f
offers "check list export salvage cut" "$plov" log ""
offers "folder" "$plov" --timeout 5s log --shard 1 list f
offers "" "$plov" get f
offers "" "$plov" --timeout ""
offers "any-replica" "$plov" get x --read-from a
offers "folder file" "$torture" check f
offers "snapshot" "$plov" --server shm:default sn
offers "$(grep -o '\bs[a-z]*' <<< "$plov_commands" | paste -sd ' ')" "$plov" help s
offers "get set" "$plov" config ""
offers "" "$plov" config get x
offers "--watch" "$plov" stats --wat
offers "" "$plov" stats --watch=
offers "--json" "$plov" stats --watch --js
offers "folder file" "$plov" --watch load f
offers "$work/file $work/folder" "$plov" --server "shm:$work/"

((failures == 0)) || exit 1
