#!/usr/bin/env bash
# The hard cases of RDMA, inside tests/vm.sh's virtual machine: hard.sh FABRIC_TEST SYSTEM_TEST.
set -euo pipefail

log=$(mktemp)
readonly log
"$1" --gtest_filter='VerbsHostile*' | tee "$log"
"$2" | tee -a "$log"
echo "over RDMA, hard: $(grep -c '^\[       OK' "$log") passed, 0 failed, 0 skipped"
