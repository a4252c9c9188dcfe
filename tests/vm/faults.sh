#!/usr/bin/env bash
# Faults of a wire between two machines: faults.sh BUILD [SECONDS], called in both machines of
# tests/vm.sh --two. In the first plovd serves over RDMA; in the second the clients of plov-torture
# check every operation, while what both machines send is lost, delayed, overtaken, duplicated and
# corrupted, and at last nothing comes through; each for SECONDS, 2 by default, or longer, until the
# fault has left traces in both and operations have gone on, those of the last one afterwards.
# Exit status: 0 passed, 1 failed, 2 usage.
set -euo pipefail

if (($# < 1 || $# > 2)) || [[ ! ${2:-2} =~ ^[1-9][0-9]{0,4}$ || -z ${PLOV_VM_SHARE:-} ]]; then
  echo "usage: faults.sh BUILD [SECONDS], within tests/vm.sh --two" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here build=$1 seconds=${2:-2} machine=$PLOV_VM_MACHINE
readonly port=7743 wait_max=60
readonly counters=/sys/class/infiniband/$PLOV_RDMA_DEVICE/ports/1/hw_counters
# What netem does, by the name of the fault.
declare -Ar netem=([loss]="loss 3%" [delay]="delay 10ms" [reorder]="delay 2ms reorder 10%"
  [duplicate]="duplicate 20%" [corrupt]="corrupt 3%" [cut]="loss 100%")
readonly faults=(loss delay reorder duplicate corrupt)
readonly meet_seconds=$((seconds + 4 * wait_max))
work=$(mktemp -d)
readonly work
passed=0
failed=0

pass() {
  passed=$((passed + 1))
  echo "passed $*"
}

fail() {
  failed=$((failed + 1))
  echo "failed $*"
}

meet() { "$here/meet" "$1" "$meet_seconds"; }

# Keeps the address of the peer: ARP has no checksum, what corrupted packets say would be believed.
know_peer() { ip neigh change "$PLOV_RDMA_PEER" dev eth0 nud permanent; }

# netem_counts PATTERN: the number that PATTERN finds in the statistics of netem here, else 0.
netem_counts() {
  local number
  number=$(tc -s qdisc show dev eth0 | sed -n "/^qdisc netem/,\$ s/.*$1.*/\\1/p")
  echo "${number:-0}"
}

# rxe_counts NAME...: the sum of these counters of the RDMA device.
rxe_counts() {
  local name number sum=0
  for name; do
    read -r number < "$counters/$name"
    sum=$((sum + number))
  done
  echo "$sum"
}

# traces FAULT: a number that grows when that fault happens to what this machine sends or gets, and
# not when a slow machine retransmits.
traces() {
  local number
  case "$1" in
    loss | cut) netem_counts '(dropped \([0-9]*\),' ;;
    delay) netem_counts 'backlog [0-9A-Za-z]* \([0-9]*\)p' ;;
    # Beyond one packet in 200: retransmissions bring a few out of order without any fault.
    reorder)
      number=$(rxe_counts out_of_seq_request completer_retry_err)
      echo $((number - $(rxe_counts rcvd_pkts) / 200))
      ;;
    # Packets that left this machine without its device's having sent them.
    duplicate)
      number=$(netem_counts 'Sent [0-9]* bytes \([0-9]*\) pkt')
      echo $((number - $(rxe_counts sent_pkts)))
      ;;
    # InHdrErrors: the share that hits a header of IP. What else is hit, rxe drops and does not count.
    corrupt) awk '$1 == "Ip:" { number = $5 } END { print number }' /proc/net/snmp ;;
  esac
}

# begin FAULT: on what this machine sends, and sets `before`.
begin() {
  meet "begin $1"
  before=$(traces "$1") # Statistics begin with netem; counters of rxe go on.
  # shellcheck disable=SC2086 # They are words.
  tc qdisc add dev eth0 root netem ${netem[$1]}
}

# has_traces FAULT: whether there are some, or come soon; sets `count`.
has_traces() {
  local end=$((SECONDS + wait_max))
  for (( ; ; )); do
    count=$(($(traces "$1") - before))
    if ((count > 0)); then return; fi
    if ((SECONDS >= end)) || [[ -e $PLOV_VM_SHARE/ended.$((3 - machine)) ]]; then return 1; fi
    sleep 0.2
  done
}

# end FAULT
end() {
  meet "end $1"
  tc qdisc del dev eth0 root || true
}

# until_matches REGEX FILE: waits for a line of FILE.
until_matches() {
  local end=$((SECONDS + wait_max))
  until grep -qE -e "$1" "$2"; do
    if ((SECONDS >= end)); then
      echo "no line '$1' came: $(tail -n 5 "$2")" >&2
      return 1
    fi
    sleep 0.1
  done
}

# Serves, and does to the wire what the other machine does too, at the same time.
serve() {
  local fault before count server status=0
  "$build/server/plovd" --listen "rdma://$PLOV_RDMA_ADDRESS:$port" --memory 64M > "$work/log" 2>&1 &
  server=$!
  until_matches '^plovd: ready on ' "$work/log"
  meet serving
  meet loaded
  know_peer
  for fault in "${faults[@]}" cut; do
    begin "$fault"
    if has_traces "$fault"; then
      pass "$fault, at the server: $count traces"
    else
      fail "$fault, at the server: no trace of it"
    fi
    end "$fault"
  done
  meet finish
  kill -TERM "$server"
  wait "$server" || status=$?
  if ((status == 0)); then pass "the server outlived it"; else
    fail "the server ended with $status: $(tail -n 5 "$work/log")"
  fi
}

# Operations that the tool has said to have checked, in its lines of progress from the $1-th.
checked() {
  sed 's/,//g' "$work/err" |
    awk -v from="$1" '$4 == "checked/s" && ++lines >= from { sum += $3 } END { print sum + 0 }'
}

# The number of the first of the tool's lines that will be all about what comes from now on.
next_line() { echo $(($(grep -c checked/s "$work/err") + 2)); }

# operations_go_on FROM: waits until `tool` tells of some, from its FROM-th line; sets `operations`.
operations_go_on() {
  local end=$((SECONDS + wait_max))
  for (( ; ; )); do
    operations=$(checked "$1")
    if ((operations > 0)); then return; fi
    if ((SECONDS >= end)) || ! kill -0 "$tool" 2> /dev/null; then return 1; fi
    sleep 0.2
  done
}

# Ends the tool, and judges by what it says of all operations.
judge() {
  local status=0
  kill -INT "$tool" 2> /dev/null || true
  wait "$tool" || status=$?
  cat "$work/out"
  # Displacements and torn reads are other tests' business, and do not come with every run.
  if ((status == 0)) ||
    ((status == 4)) && ! grep '^too little' "$work/out" |
    grep -qvE 'no (torn (bucket|record)|displacement|reuse of memory) was seen'; then
    pass "no operation contradicts another"
  else
    fail "plov-torture ended with $status: $(tail -n 5 "$work/err")"
  fi
}

# during FAULT. A tool that has ended ends all.
during() {
  local before count=0 operations=0 line
  begin "$1"
  line=$(next_line)
  sleep "$seconds"
  if operations_go_on "$line" && has_traces "$1"; then
    pass "$1: $operations operations checked, $count traces"
  else
    fail "$1: $operations operations checked, $count traces"
    if ! kill -0 "$tool" 2> /dev/null; then
      judge
      exit 1
    fi
  fi
  end "$1"
}

get() { "$build/client/plov" --server "rdma://$PLOV_RDMA_PEER:$port" --timeout "$1" get stays; }

# Nothing comes through: a client says so within its deadline. Then all goes on.
cut() {
  local before count=0 operations=0 status=0 lost text
  lost=$(rxe_counts retry_exceeded_err)
  begin cut
  get 2s > "$work/get" 2>&1 || status=$?
  if ((status == 3)) && grep -q '^plov: get: .* does not answer in time' "$work/get"; then
    pass "cut: $(< "$work/get")"
  else
    fail "cut: plov ended with $status: $(< "$work/get")"
  fi
  sleep "$seconds"
  lost=$(($(rxe_counts retry_exceeded_err) - lost))
  if has_traces cut && ((lost > 0)); then
    pass "cut: $count packets dropped here, $lost connections lost"
  else
    fail "cut: $count packets dropped here, $lost connections lost"
  fi
  end cut
  text=$(get 30s 2>&1) || true
  if [[ $text == here ]] && operations_go_on "$(next_line)"; then
    pass "mended: $operations operations checked"
  else
    fail "mended: plov says '$text'; $operations operations checked"
  fi
}

# Values are so short that each READ is one packet: Linux 6.1's rxe takes some retransmissions of
# longer ones for an error, which it warns of (rxe_comp.c, COMPST_ERROR).
load() {
  local fault
  meet serving
  "$build/client/plov" --timeout 30s --server "rdma://$PLOV_RDMA_PEER:$port" put stays here > /dev/null
  "$build/torture/plov-torture" --server "rdma://$PLOV_RDMA_PEER:$port" --faults none --timeout 5s \
    --duration 24h --clients 3 --keys 2000 --value-bytes 16-800 > "$work/out" 2> "$work/err" &
  tool=$!
  until_matches 'checked/s' "$work/err"
  meet loaded
  know_peer
  for fault in "${faults[@]}"; do during "$fault"; done
  cut
  judge
  meet finish
}

trap 'rm -rf "$work"' EXIT
if ((machine == 1)); then serve; else load; fi
echo "over RDMA, faults: $passed passed, $failed failed, 0 skipped"
((failed == 0))
