# shellcheck shell=bash
# Sourced by the tests of plovd --metrics, after those of plov (tests/cli/common.sh).
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/cli/common.sh
source "$here/../cli/common.sh"

# start_with_metrics [OPTION...]: a server whose metrics are at $port.
# shellcheck disable=SC2120 # they are optional
start_with_metrics() {
  start_server --metrics 127.0.0.1:0 "$@"
  port=$(sed -n 's,^plovd: metrics on http://127.0.0.1:\([0-9]*\)/metrics$,\1,p' "$work/ready")
  [[ -n $port ]] || { echo "plovd does not say where its metrics are"; exit 1; }
}

# scrape: the metrics, in $work/out.
scrape() {
  python3 -ISc '
import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1], timeout=60).read())' \
    "http://127.0.0.1:$port/metrics" > "$work/out" || fail "cannot scrape"
}

# value NAME: of the last scrape, all shards together.
value() { awk -v name="$1" '$1 ~ "^"name"([{]|$)" { sum += $2 } END { printf "%.9g\n", sum }' "$work/out"; }
