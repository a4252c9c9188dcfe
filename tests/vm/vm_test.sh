#!/usr/bin/env bash
# Tests of tests/vm.sh, one theme at a time: vm_test.sh THEME, of those at the end.
# Exit status: 0 passed, 1 failed, 2 usage, 77 there is no virtual machine here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly vm=$here/../vm.sh
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "failed: $*"
  failures=$((failures + 1))
}

# run ARGUMENT...: vm.sh, from another folder; sets `status`, and leaves its output in out and err.
run() {
  status=0
  (cd "$work" && exec "$vm" "$@" > out 2> err) || status=$?
  if ((status == 77)) && grep -q '^vm.sh: skipped: ' "$work/err"; then
    cat "$work/err"
    exit 77
  fi
}

# expect STATUS
expect() {
  if ((status == $1)); then return; fi
  fail "the exit status is $status, not $1"
  tail -n 60 "$work/out" "$work/err"
}

# shows out|err REGEX: that a whole line matches.
shows() {
  grep -qxE -e "$2" "$work/$1" || {
    fail "$1 has no line '$2'"
    tail -n 60 "$work/out" "$work/err"
  }
}

# nothing_left: no qemu of this test, and none of its files.
nothing_left() {
  local left
  left=$(ls "$work/tmp")
  [[ -z $left ]] || fail "vm.sh left $left"
  left=$(
    unset TMPDIR # The search itself does not count.
    grep --files-with-matches --null-data --text --line-regexp --fixed-strings \
      -e "TMPDIR=$work/tmp" /proc/[0-9]*/environ 2> /dev/null | cut -d/ -f3 || true
  )
  [[ -z $left ]] || fail "vm.sh left the processes $left"
}

# The command's own status, its two streams whole and apart, where and with what it runs.
test_status() {
  # shellcheck disable=SC2016 # The guest's shell expands it.
  PLOV_VM_TEST="a b'c\"d" run sh -c '
    echo "from $PWD with $PLOV_VM_TEST"
    echo "to $PLOV_RDMA_ADDRESS on $PLOV_RDMA_DEVICE of $PLOV_VM_MACHINE"
    ibv_devinfo -d rxe0 | grep state:
    echo apart >&2
    echo again > /dev/stderr
    touch "$0" && echo written
    seq 300000
    exit 43' "$work/written"
  expect 43
  shows out "from $(cd "$here/../.." && pwd) with a b'c\"d"
  shows out "to 10\.99\.0\.1 on rxe0 of 1"
  shows out ".*PORT_ACTIVE.*"
  shows out written
  [[ $(< "$work/err") == apart$'\n'again ]] || fail "err is: $(< "$work/err")"
  [[ ! -e $work/written ]] || fail "the machine wrote to the host's files"
  cmp <(seq 300000) <(tail -n 300000 "$work/out") || fail "not all of the output has come"
}

# A complaint of the kernel fails a command that succeeded, and is shown.
test_complaint() {
  run sh -c 'echo "<4>WARNING: CPU: 0 PID: 1 at nowhere" > /dev/kmsg; echo finished'
  expect 125
  shows out finished
  shows err ".*WARNING: CPU: 0 PID: 1 at nowhere"
  # What was not printed, for the command turned the console off, has left a mark.
  run sh -c 'dmesg -n 1; echo 512 > /proc/sys/kernel/tainted'
  expect 125
  shows err ".*its kernel is tainted: 512"
}

# A kernel that dies ends the run at once.
test_death() {
  run --timeout 300 sh -c 'echo before; sleep 1; echo c > /proc/sysrq-trigger; sleep 1000'
  expect 125
  shows out before
  shows err ".*Kernel panic.*"
  if grep "ended after" "$work/err"; then fail "the dead machine was waited for"; fi
}

# Time that is over ends all of it, wherever it was.
test_timeout() {
  run --timeout 10 sleep 1000
  expect 124
  shows err "vm.sh: machine 1: ended after 10 seconds"
}

# A machine that does not come up is booted again.
test_boot() {
  local real
  real=$(PATH=$PATH:/usr/sbin:/sbin command -v qemu-system-x86_64) || real=/nowhere
  mkdir "$work/bin"
  cat > "$work/bin/qemu-system-x86_64" << END
#!/bin/sh
echo >> "$work/boots"
if [ "\$(wc -l < "$work/boots")" -lt 3 ]; then exec sleep 1000; fi
exec "$real" "\$@"
END
  chmod +x "$work/bin/qemu-system-x86_64"
  PATH=$work/bin:$PATH run --boot 2 --timeout 300 sh -c 'echo up; exit 46'
  expect 46
  [[ $(< "$work/out") == up ]] || fail "out is: $(< "$work/out")"
  shows err "vm.sh: boot 1 of 3 was not over after 2 seconds"
  shows err "vm.sh: boot 2 of 3 was not over after 2 seconds"
}

# Both machines reach each other by RDMA over the wire, and netem takes hold of it; a failure of the
# second is one of the run.
test_two() {
  # shellcheck disable=SC2016 # The guest's shell expands it.
  run --two bash -c '
    ibv_rc_pingpong -d rxe0 -g 1 -n 50 &
    until grep -q ":4853 " /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done # its port, 18515
    tests/vm/meet listening
    wait $! && echo "pong at $PLOV_RDMA_ADDRESS"
    tests/vm/meet finish
    tests/vm/meet never' -- bash -c '
    tests/vm/meet listening
    ibv_rc_pingpong -d rxe0 -g 1 -n 50 "$PLOV_RDMA_PEER" && echo "ping at $PLOV_RDMA_ADDRESS"
    tests/vm/meet finish
    tc qdisc add dev eth0 root netem loss 5% && echo faulty
    exit 44'
  expect 1 # The first: its last meeting has failed.
  shows out "1: pong at 10\.99\.0\.1"
  shows out "2: ping at 10\.99\.0\.2"
  shows out "2: faulty"
  shows err "1: meet never: the other machine has ended"
}

# What is missing is said, and skips.
test_missing() {
  mkdir "$work/bin"
  ln -s "$(command -v bash)" "$(command -v dirname)" "$(command -v uname)" \
    "$(command -v realpath)" "$work/bin/"
  status=0
  PATH=$work/bin "$BASH" "$vm" true > "$work/out" 2> "$work/err" || status=$?
  expect 77
  shows err "vm.sh: skipped: [a-z0-9_-]+ is not installed; run as root: tests/install.sh test"
}

# as_user COMMAND...: as an ordinary user, in a shell of which this process becomes.
as_user() {
  if ((EUID == 0)); then exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; fi
  exec "$@"
}

# Who is not root has a machine too, with root in it, from files that are there already.
test_user() {
  if ! (as_user test -x "$vm"); then
    echo "vm.sh: skipped: an ordinary user cannot read $here"
    exit 77
  fi
  chmod 755 "$work"
  chmod 777 "$work/tmp"
  status=0
  # shellcheck disable=SC2016 # The guest's shell expands it.
  (as_user "$vm" sh -c 'id -u; ls "$0" > /dev/kmsg; ibv_devinfo | grep state:; exit 45' /root \
    > "$work/out" 2> "$work/err") || status=$?
  expect 45
  shows out 0
  shows out ".*PORT_ACTIVE.*"
}

# Without a network, and without a kernel from before, that is said.
test_offline() {
  mkdir -m 777 "$work/cache" "$work/lists"
  chmod 755 "$work"
  chmod 777 "$work/tmp"
  echo "deb http://127.0.0.1:9/debian stable main" > "$work/sources"
  printf '%s;\n' "Dir::State::Lists \"$work/lists\"" "Dir::Etc::SourceList \"$work/sources\"" \
    'Dir::Etc::SourceParts "/dev/null"' 'Acquire::Retries "0"' > "$work/apt"
  status=0
  APT_CONFIG=$work/apt PLOV_VM_CACHE=$work/cache "$vm" true > "$work/out" 2> "$work/err" ||
    status=$?
  expect 77
  shows err "vm.sh: skipped: apt-get cannot download linux-image-amd64: .*"
  [[ $(ls "$work/cache") == lock ]] || fail "left: $(ls "$work/cache")"
  status=0
  PLOV_VM_CACHE=/proc/nowhere "$vm" true > "$work/out" 2> "$work/err" || status=$?
  expect 77
  shows err "vm.sh: skipped: cannot write to /proc/nowhere"
}

test_usage() {
  local arguments
  for arguments in "" "--two true" "--two true --" "--two -- true" "--memory" "--memory 0 true" \
    "--cpus two true" "--timeout -1 true" "--folder /nowhere true" "--disk /nowhere true" \
    "--disk-log log true" "--no-such-option true"; do
    # shellcheck disable=SC2086 # They are words.
    run $arguments
    ((status == 2)) || fail "vm.sh $arguments: the exit status is $status"
    shows err "vm.sh: .*; see --help"
  done
  run --help
  expect 0
  shows out "usage: .*"
}

readonly themes=" status complaint death timeout boot two user missing offline usage "
mkdir "$work/tmp"
export TMPDIR=$work/tmp
if [[ $# != 1 || $themes != *" $1 "* ]]; then
  echo "usage: vm_test.sh THEME; the themes are:$themes" >&2
  exit 2
fi
"test_$1"
nothing_left
((failures == 0))
