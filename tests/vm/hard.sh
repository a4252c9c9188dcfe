#!/usr/bin/env bash
# The hard cases of RDMA, inside tests/vm.sh's virtual machine: hard.sh FABRIC_TEST SYSTEM_TEST.
set -euo pipefail

"$1" --gtest_filter='VerbsHostile*'
"$2"
