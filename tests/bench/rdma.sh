#!/usr/bin/env bash
# plov-bench on an RDMA device: this machine's, or that of a virtual machine. Called with the paths
# of plov-bench and plovd.
set -euo pipefail

tool=$1 plovd=$2
if [[ -z ${PLOV_VM:-} ]] && ! compgen -G '/sys/class/infiniband/*' > /dev/null; then
  exec bash "$(dirname "${BASH_SOURCE[0]}")/../vm.sh" --cpus 2 --memory 2048 --timeout 500 \
    bash "${BASH_SOURCE[0]}" "$tool" "$plovd"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/plov-test-XXXXXX")
server=""
on_exit() {
  if [[ -n $server ]]; then kill "$server" 2> /dev/null || true; fi
  rm -rf "$work"
}
trap on_exit EXIT
export TMPDIR=$work

fail() {
  echo "$*" >&2
  exit 1
}

# holds FILE EXPRESSION: of v, the JSON in the file; looked at last, because Python takes seconds to start
# in the virtual machine.
checks=()
holds() { checks+=("$work/$1" "$2"); }
look() {
  python3 -ISc '
import json, sys
for path, expression in zip(sys.argv[1::2], sys.argv[2::2]):
    with open(path) as file:
        v = json.load(file)
    if not eval(f"({expression})"):
        sys.exit(f"it is not so: {expression}: {v}")' "${checks[@]}"
}

# Every combination works, with one packet, and with several where it has several: a datagram has
# one, of 4096 bytes at most.
"$tool" verbs --quick --bytes 64,8K --json > "$work/verbs"
holds verbs 'len(v["results"]) == 7 * 2 * 2'
holds verbs '[(r["combination"], r["bytes"]) for r in v["results"] if "unsupported" in r] ==
             [("WRITE_UC/SEND_UD", 8192)] * 2'
holds verbs 'all(r["per_second"] > 0 for r in v["results"] if "unsupported" not in r)'
holds verbs 'all(r["p99_us"] >= r["median_us"] > 0 for r in v["results"] if "median_us" in r)'
holds verbs 'all((r["reads"] >= 1) == ("READ" in r["combination"])
             for r in v["results"] if "reads" in r)'

# Two sides that know of each other by address only.
"$tool" verbs --server --address "${PLOV_RDMA_ADDRESS:-}" --port 7481 > "$work/ready" &
server=$!
for ((tries = 0; tries < 600; ++tries)); do
  if grep -q 'ready on port 7481' "$work/ready"; then break; fi
  kill -0 "$server" || fail "the server did not start"
  sleep 0.1
done
"$tool" verbs --client "${PLOV_RDMA_ADDRESS:-127.0.0.1}" --port 7481 --quick \
  --combinations READ,SEND/SEND > "$work/text"
grep -q '^SEND/SEND  *[0-9]' "$work/text" || fail "no row: $(< "$work/text")"
kill "$server"
wait "$server" || true
server=""

# A load of two clients, of processes that were forked, on a server of the tool's own.
if [[ -n ${PLOV_RDMA_ADDRESS:-} ]]; then
  "$tool" run --quick --plovd "$plovd" --listen "rdma://$PLOV_RDMA_ADDRESS:7482" --items 500 \
    --workload ycsb-a --clients 2 --window 8 --json > "$work/run"
  holds run 'v["runs"][0]["count"] > 0 and v["runs"][0]["misses"] == 0'
  holds run '1 <= v["runs"][0]["reads_per_get"] < 3 and v["memory"]["items"] == 500'
fi
# The designs: eight sides, one window, one short round; one client and two, one server and two.
"$tool" designs --fabric rdma --quick --window 1 --plovd "$plovd" --json > "$work/designs"
holds designs 'len(v["results"]) == 8 and v["fabric"] == "rdma" and v["device"] != ""'
holds designs 'all(r["per_second"]["median"] > 0 for r in v["results"])'
holds designs 'len(v["clients"]) == 8 * 2 + 3'
holds designs 'all(r["per_second"]["median"] > 0 for r in v["clients"])'
# The READs of a GET that the round's end cuts off count for the others, of which there may be 20.
holds designs '[round(r["reads_per_get"]) for r in v["results"][1:4]] == [1, 2, 2]'

# GETs beside perftest's READs; so few that all their locations are remembered (shm.sh).
if ! command -v ib_read_bw > /dev/null; then
  look
  echo "skipped: perftest is not installed; run as root: tests/install.sh test" >&2
  exit 77
fi
"$tool" fabric --quick --items 256 --plovd "$plovd" --json > "$work/fabric"
holds fabric '[r["bytes"] for r in v["perftest"]] == [64, 120]'
holds fabric 'all(r["per_second"]["median"] > 0 and r["p99_us"]["median"] > 0 for r in v["perftest"])'
holds fabric 'all(r["part"]["median"] > 0 and r["single_part"]["median"] > 0 for r in v["gets"])'
holds fabric 'v["gets"][2]["reads_per_get"] == 1 and v["goal"] == 0.9'
holds fabric 'v["reached"] == all(r["part"]["median"] >= 0.9 for r in v["gets"])'
left=$(find "$work" -maxdepth 1 -name 'plov-bench-*')
[[ -z $left ]] || fail "left behind: $left"
# Where nobody else runs any.
for name in ib_read_bw ib_read_lat plovd; do
  if [[ -n ${PLOV_VM:-} ]] && pgrep -x "$name"; then fail "$name is left running"; fi
done
look
