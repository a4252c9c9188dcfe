#!/usr/bin/env bash
# Runs faults.sh in two machines: faults_run.sh BUILD. Once more when it fails and Linux says that a machine could
# send nothing ("NETDEV WATCHDOG"): at times qemu's wire between them stands still for minutes, and what plov
# makes of that is not what is asked here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {
  setpriv --pdeathsig TERM bash "$here/../vm.sh" --cpus 1 --timeout 450 --kernel-log "$work/kernel" \
    --two "$here/faults.sh" "$1" -- "$here/faults.sh" "$1" > "$work/out" 2>&1
}

status=0
run "$1" || status=$?
if ((status != 0)) && grep -qsa 'NETDEV WATCHDOG' "$work"/kernel.*; then
  echo "the wire between the machines stood still: once more"
  status=0
  run "$1" || status=$?
fi
cat "$work/out"
exit "$status"
