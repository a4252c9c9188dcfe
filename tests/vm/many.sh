#!/usr/bin/env bash
# Many clients over RDMA, inside tests/vm.sh's virtual machine: many.sh SYSTEM_TEST.
set -euo pipefail

log=$(mktemp)
readonly log
"$1" | tee "$log"
echo "over RDMA, many: $(grep -c '^\[       OK' "$log") passed, 0 failed, 0 skipped"
