#!/usr/bin/env bash
# A machine that falls silent: silence.sh BUILD, called in both machines of tests/vm.sh --two. The
# first serves; the second READs, and then waits for a reply, while the wire is cut both ways.
# Both ends notice: the second prints after how long, the first lets its clients go, which were idle
# as far as it can tell. Exit status: 0 passed, 1 failed, 2 usage.
set -euo pipefail

if (($# != 1)) || [[ -z ${PLOV_VM_SHARE:-} ]]; then
  echo "usage: silence.sh BUILD, within tests/vm.sh --two" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here program=$1/tests/vm/silence port=7744

if [[ $PLOV_VM_MACHINE == 1 ]]; then
  log=$(mktemp)
  "$program" serve "rdma://$PLOV_RDMA_ADDRESS:$port" 2 > "$log" &
  until grep -qx serving "$log" || ! kill -0 $!; do sleep 0.05; done
  "$here/meet" serving
  wait $!
  grep -qx "closed 2" "$log"
  echo "passed the server let both clients go"
else
  "$here/meet" serving
  cut="tc qdisc add dev eth0 root netem loss 100% && tc qdisc add dev eth0 clsact"
  cut+=" && tc filter add dev eth0 ingress matchall action drop"
  "$program" client "rdma://$PLOV_RDMA_PEER:$port" "$cut" \
    "tc qdisc del dev eth0 root && tc qdisc del dev eth0 clsact"
  echo "passed the client noticed twice"
  echo "over RDMA, silence: 2 passed, 0 failed, 0 skipped"
fi
