#!/usr/bin/env bash
# Builds plov's Debian packages and lives with them in a clean Debian that systemd runs: installs them, starts
# servers, stores, restarts, upgrades, removes, purges, and finds nothing left. Prints "passed NAME" or
# "failed NAME" for each check. Needs root, and the Debian mirror that apt knows. Exit status: 77 where that is
# missing.
#
#   tests/packaging/run.sh [--twice]     builds twice, too, and compares the bytes
# shellcheck disable=SC2016,SC2317  # `check` calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
readonly here root
readonly systemd_examples=/usr/share/doc/plov-server/examples/systemd
readonly packages=(plov-server plov-client plov-door libplov0 libplov-dev plov-tools python3-plov)

skip() {
  echo "skipped: $*"
  exit 77
}

((EUID == 0)) || skip "needs root"
cgroups=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
[[ -n $cgroups ]] || skip "no control groups of version 2 are mounted"

scratch=$(mktemp -d -p "${TMPDIR:-/tmp}" plov-packages.XXXXXX)
readonly scratch debian=$scratch/debian cgroup=$cgroups/${scratch##*/}
machine="" # the process id of its namespaces' parent
init=""    # and of its systemd
failed=0

on_exit() {
  trap - EXIT INT TERM
  if [[ -n $machine ]]; then
    kill -KILL "$machine" 2> /dev/null || true
    wait "$machine" 2> /dev/null || true
  fi
  local tries
  for ((tries = 0; tries < 50; ++tries)); do
    if [[ ! -d $cgroup ]]; then break; fi
    find "$cgroup" -depth -type d -exec rmdir {} + 2> /dev/null || sleep 0.1
  done
  rm -rf --one-file-system "$scratch"
}
trap on_exit EXIT
trap 'exit 143' INT TERM

# check NAME COMMAND...
check() {
  local name=$1
  shift
  if "$@" > "$scratch/said" 2>&1; then echo "passed $name"; else
    tail -n 30 "$scratch/said"
    echo "failed $name"
    failed=1
    return 1
  fi
}

# must NAME COMMAND...: what all that follows needs.
must() { check "$@" || exit 1; }

# inside COMMAND...: in the machine, as its root.
inside() {
  nsenter --target "$init" --mount --uts --ipc --pid --cgroup --root --wd env -i DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 timeout 300 "$@" < /dev/null
}

# install FOLDER: the packages there, with what they need from the mirror.
install_packages() {
  rm -rf "$debian/opt/packages"
  mkdir "$debian/opt/packages"
  find "$1" -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t "$debian/opt/packages" {} +
  inside sh -c 'apt-get install -y --no-install-recommends /opt/packages/*.deb'
}

# A root folder from the mirror, with what apt knows of the way there.
bootstrap() {
  local mirror proxy
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
  proxy=$(apt-config dump | sed -n 's/^Acquire::http::Proxy "\(.*\)";$/\1/p')
  if [[ -n $proxy ]]; then export http_proxy=$proxy; fi
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,logrotate bookworm "$debian" "$mirror"
  cp /etc/resolv.conf "$debian/etc/"
  if [[ -n $proxy ]]; then echo "Acquire::http::Proxy \"$proxy\";" > "$debian/etc/apt/apt.conf.d/proxy"; fi
  # What a machine that was started once has.
  chroot "$debian" systemd-machine-id-setup
}

is_up() { inside systemctl is-system-running --wait; }

start_machine() {
  mkdir "$cgroup"
  (
    echo "$BASHPID" > "$cgroup/cgroup.procs"
    exec setpriv --pdeathsig KILL unshare --mount --pid --uts --ipc --cgroup --fork --kill-child \
      bash "$here/boot.sh" "$debian"
  ) > "$scratch/console" 2>&1 < /dev/null &
  machine=$!
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    init=$(cat "/proc/$machine/task/$machine/children" 2> /dev/null || true)
    init=${init%% *}
    if [[ -n $init && $(cat "/proc/$init/comm") == systemd ]] && is_up; then return; fi
    kill -0 "$machine" || break
    sleep 0.1
  done
  cat "$scratch/console"
  return 1
}

# Every path but those of package management, and of the kernel's and systemd's own at run time.
paths() {
  inside sh -c 'find / -xdev \( -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log \
    -o -path /opt/packages -o -path /tmp -o -path /var/tmp \) -prune -o -print
    find /var/log/plov /var/lib/dpkg/info/*plov* /run /dev/shm \( -path /run/systemd -o -path /run/dbus \
    -o -path /run/log -o -path /run/adduser \) -prune -o -print 2> /dev/null; true' | sort
}

# What users and groups are kept in has copies from the first change on.
look() { inside useradd eve && inside userdel eve && paths > "$scratch/before"; }

plov() { inside plov --server "shm:/run/plov/$1/sock" "${@:2}"; }

# configure NAME LINE...: what an administrator does for a server.
configure() {
  printf '%s\n' 'memory = 64M' "${@:2}" >> "$debian/etc/plov/$1.conf"
}

# another NAME LINE...: a configuration for one more server.
another() {
  grep '^#' "$debian/etc/plov/main.conf" > "$debian/etc/plov/$1.conf"
  configure "$@"
}

says() { [[ $("${@:2}") == "$1" ]]; }
main_id() { inside systemctl show --value --property MainPID "plovd@$1"; }

starts_no_server() { says "" inside sh -c 'systemctl list-units --no-legend "plovd@*"'; }

starts() {
  configure main 'log = /var/lib/plov/main/log' 'log-output = /var/log/plov/main/plovd.log'
  inside systemctl enable --now plovd@main && plov main put name Ada && says Ada plov main get name
}

# Members of the group may connect, others may not.
admits_group() {
  inside useradd --groups plov ada && inside useradd bob
  says Ada inside setpriv --reuid=ada --regid=ada --init-groups plov --server shm:/run/plov/main/sock get name &&
    ! inside setpriv --reuid=bob --regid=bob --init-groups plov --server shm:/run/plov/main/sock get name
}

restarts() { inside systemctl restart plovd@main && says Ada plov main get name; }

# What a restart has said is in the file; after logrotate what is said next is in a new one.
rotates_log() {
  local log=/var/log/plov/main/plovd.log
  inside grep -q 'stopping$' "$log" && inside logrotate --force --state /tmp/rotated /etc/logrotate.d/plov-server &&
    inside grep -q 'stopping$' "$log.1" && plov main config set spin-us 60 && inside grep -q 'spin-us is 60 now' "$log"
}

reloads() {
  echo 'spin-us = 70' >> "$debian/etc/plov/main.conf" && inside systemctl reload plovd@main &&
    inside sh -c 'for i in $(seq 100); do plov --server shm:/run/plov/main/sock config get spin-us | grep " 70$" && exit
      sleep 0.1; done; exit 1'
}

# On warm memory, to the journal.
serves_another() {
  another warm 'warm = /dev/shm/plov/warm' 'log-output = journal'
  inside systemctl start plovd@warm && plov warm put name Grace && says Ada plov main get name &&
    inside systemctl kill --signal KILL plovd@warm && says Grace plov warm --wait 60s get name &&
    inside systemctl restart plovd@warm && says Grace plov warm get name &&
    [[ -n $(inside journalctl --quiet --unit plovd@warm --priority info --grep '^stopping$') ]]
}

# drop_in NAME FILE: one of the examples, for the server.
drop_in() { inside install -D -m 644 "$systemd_examples/$2" "/etc/systemd/system/plovd@$1.service.d/$2"; }

# The examples for systemd. The socket: the first client starts the server.
activates() {
  another lazy 'warm = /dev/shm/plov/lazy'
  inside install -m 644 "$systemd_examples/plovd@.socket" /etc/systemd/system && drop_in lazy socket.conf &&
    inside systemctl daemon-reload && inside systemctl start plovd@lazy.socket && says 0 main_id lazy &&
    plov lazy put name Alan && says Alan plov lazy get name && ! says 0 main_id lazy || return 1
  inside systemctl stop plovd@lazy.socket plovd@lazy
  inside rm -r /etc/systemd/system/plovd@lazy.service.d /etc/systemd/system/plovd@.socket
  inside systemctl daemon-reload
}

# The application: it is not root, and starts its server.
serves_application() {
  inside install -m 644 "$systemd_examples/read-through.service" /etc/systemd/system && inside systemctl daemon-reload &&
    inside systemctl stop plovd@main && inside systemctl start read-through &&
    [[ -n $(inside journalctl --quiet --unit read-through --grep 'Ada') ]] && says Ada plov main get name || return 1
  inside rm /etc/systemd/system/read-through.service
  inside systemctl daemon-reload
}

# Metrics, at a port of its own: the machine has the host's network.
serves_metrics() {
  another seen 'metrics = 127.0.0.1:0'
  local url
  drop_in seen metrics.conf && inside systemctl daemon-reload && inside systemctl start plovd@seen || return 1
  url=$(inside journalctl --quiet --unit plovd@seen --output cat --grep '^plovd: metrics on ' | sed 's/.* //')
  inside python3 -ISc 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())' "$url" | grep '^plov_build_info' || return 1
  inside systemctl stop plovd@seen
  inside rm -r /etc/systemd/system/plovd@seen.service.d
  inside systemctl daemon-reload
}

# asks SOCKET TEXT USER: what it answers in two seconds at most to one who speaks memcached's or Redis's protocol.
asks() {
  inside setpriv --reuid="$3" --regid="$3" --init-groups python3 -ISc 'import socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.settimeout(2)
    door.connect(sys.argv[1])
    door.sendall(sys.argv[2].encode() + b"\r\n")
    print(door.recv(1000).split(b"\r\n")[1].decode())' "/run/plov-door/main/$1.sock" "$2"
}

# Both protocols on the data of the server, for who may connect to that; a restart of it is only felt.
serves_door() {
  inside systemctl enable --now plov-door@main && says Ada asks memcached "get name" ada &&
    says Ada asks redis "GET name" ada && ! asks redis "GET name" bob || return 1
  local before
  before=$(inside systemctl show --value --property MainPID plov-door@main)
  restarts && says Ada asks memcached "get name" ada && inside systemctl reload plov-door@main &&
    says "$before" inside systemctl show --value --property MainPID plov-door@main &&
    inside systemd-analyze security --threshold=19 plov-door@main
}

# Without a file of its own a server says so, once.
needs_config() {
  ! inside systemctl start plovd@none &&
    says failed inside systemctl show --value --property ActiveState plovd@none &&
    [[ $(inside journalctl --quiet --unit plovd@none --grep 'cannot read --config /etc/plov/none.conf' | wc -l) == 1 ]] &&
    inside systemctl reset-failed plovd@none
}

is_hardened() { inside systemd-analyze security --threshold=19 plovd@main; }

# The library's examples, built by this machine's compiler, with what that machine has.
builds_example() {
  local flags
  flags=$(PKG_CONFIG_SYSROOT_DIR=$debian PKG_CONFIG_LIBDIR=$(dirname "$debian"/usr/lib/*/pkgconfig/plov.pc) \
    pkg-config --cflags --libs plov) || return 1
  read -ra flags <<< "$flags"
  gcc -std=c11 "$debian/usr/share/doc/libplov-dev/examples/hello.c" -o "$debian/opt/hello" \
    "${flags[@]}" -Wl,--unresolved-symbols=ignore-in-shared-libs && inside /opt/hello shm:/run/plov/main/sock
  rm -f "$debian/opt/hello"
}

# Types are where mypy looks for those of a package.
serves_python() {
  says "b'Ada'" inside python3 -c 'import plov; print(plov.connect("shm:/run/plov/main/sock").get(b"name"))' &&
    inside python3 /usr/share/doc/python3-plov/examples/read_through.py shm:/run/plov/main/sock &&
    inside test -f /usr/lib/python3/dist-packages/plov/py.typed -a -f /usr/lib/python3/dist-packages/plov/_plov.pyi
}

# So short a torture may be too little for its verdict.
runs_tools() {
  inside sh -c 'plov-torture --duration 2s | grep -E "^violations +0$"' && inside plov-bench table --quick
}

# A running server stays as it is, with what it holds, until it is restarted.
upgrades() {
  local before
  before=$(main_id main)
  # Both builds are of one commit; this is what makes the unit that the second brings newer.
  inside touch --date 2000-01-01 /lib/systemd/system/plovd@.service && inside systemctl daemon-reload || return 1
  install_packages "$scratch/second" && says "$before" main_id main && says Ada plov main get name &&
    says Grace plov warm get name && inside grep -q '^memory = 64M$' /etc/plov/main.conf &&
    says +next inside sh -c 'dpkg-query -W -f "\${Version}" plov-server | grep -o "+next"' || return 1
  says no inside systemctl show --value --property NeedDaemonReload plovd@main || return 1
  restarts && ! says "$before" main_id main
}

removes() {
  inside apt-get remove -y "${packages[@]}" && inside test -d /var/lib/plov/main/log -a -f /etc/plov/main.conf &&
    ! inside sh -c 'cat /proc/[0-9]*/comm | grep -xE "plovd|plov-door"'
}

# The user stays: the files that its servers wrote elsewhere must not become the next user's.
purges() {
  inside userdel ada && inside userdel bob && inside dpkg --purge plov-server plov-door && inside apt-get autoremove -y --purge &&
    inside getent passwd plov > /dev/null || return 1
  diff "$scratch/before" <(paths) && ! inside sh -c 'grep -rl plov /etc | grep -vE "^/etc/g?(passwd|group|shadow|gshadow)-?$"'
}

must build bash "$root/packaging/build.sh" "$@" "$scratch/first"
grep 'built twice' "$scratch/said" || true
# Out of ccache, and sooner without what is for a debugger.
must build-next env DEB_BUILD_OPTIONS=noautodbgsym bash "$root/packaging/build.sh" --version \
  "$(dpkg-parsechangelog -l "$root/debian/changelog" -S Version)+next" "$scratch/second"
must debootstrap bootstrap
must boot start_machine
must look look
must install install_packages "$scratch/first"
check no-server starts_no_server || true
must start starts
for property in admits_group restarts serves_door rotates_log reloads serves_another activates serves_application serves_metrics needs_config is_hardened builds_example \
  serves_python runs_tools upgrades removes purges; do
  check "$property" "$property" || true
done
exit "$failed"
