#!/usr/bin/env bash
# doctor on RDMA, and on a server of another size. On a machine without RDMA, which has all that
# shm: needs; tests/cli/doctor_rdma.sh is for one with it.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

run doctor
if grep -q 'RDMA library: this plov was built without rdma-core' "$work/out"; then
  shows 'mend: .*apt-get install libibverbs-dev librdmacm-dev && cmake '
elif [[ -z $(ls /sys/class/infiniband 2> /dev/null) ]]; then
  shows '^ok       RDMA library: rdma-core '
  shows '^note     RDMA devices: none, and none is needed on one host: shm: works'
  shows 'mend: .*modprobe -a crc32_generic rdma_rxe rdma_ucm && .*rdma link add rxe0 type rxe '
  shows '^note     RDMA: verdict: not there; plov works on this host by shm:'
  shows '^ok       locked memory: .*shared memory needs none'
  run doctor --server rdma://127.0.0.1:7777
  check_status 3 "doctor of a server over RDMA"
  shows '^PROBLEM  RDMA devices: none on this machine'
  shows '^PROBLEM  server: ' && shows 'mend: plov --server rdma://127.0.0.1:7777 doctor  # again'
fi
if grep -q '^PROBLEM  RDMA' <("$plov" doctor 2> /dev/null); then fail "RDMA is not asked for"; fi

# A server is connected to, and READ from, on every fabric.
start_server
run doctor
shows "^ok       server: $uri answers"
shows '^ok       READs: connected in [0-9]* us; READ the superblock, whole, format version 10, in '
end_server TERM

# More memory than there is.
run doctor --memory 1000T
check_status 3 "doctor --memory 1000T"
shows '^PROBLEM  memory: .*too little for a plovd of 1000.0 TiB'
run doctor --memory 16M && shows '^ok       memory'
expect 2 doctor --memory && expect 2 doctor --memory 0 && expect 2 doctor --memory many
says "^plov: --memory: .*many"
expect 2 doctor --cluster static:x && says "^plov: --cluster 'static:x' is not zk://"
run --timeout 100ms doctor --cluster zk://127.0.0.1:1/plov
check_status 3 "doctor of a cluster whose coordinator is away"
shows '^PROBLEM  cluster coordinator: .*127.0.0.1:1 within 100 ms'
expect 2 ping --memory 1G && says "not an option of ping"
