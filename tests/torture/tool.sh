# shellcheck shell=bash
# What the tests of plov-torture itself share. Sourced with the paths of plovd, plov and plov-torture.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"
tool=$3
export TMPDIR=$work # where the folders of its servers go, but those with memory files

# torture STATUS[|STATUS] ARGUMENT...: runs the tool; one of these must be its exit status.
torture() {
  local wanted=$1
  shift
  status=0
  timeout 100 "$tool" "$@" > "$work/out" 2> "$work/err" || status=$?
  [[ "|$wanted|" == *"|$status|"* ]] || fail "plov-torture $* ended with $status, not $wanted"
}

# holds EXPRESSION: of v, the JSON of the last run.
holds() {
  python3 -c 'import json, sys; v = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' \
    "$work/v.json" "$1"
}

verdict() { holds "$1" || fail "the verdict is not so: $1"; }
