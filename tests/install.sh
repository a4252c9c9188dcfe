#!/usr/bin/env bash
# Installs the Debian 12 packages that plov needs and that are missing; does nothing, without the
# network, when all of them are there. Needs root, or sudo that asks for no password.
#
#   tests/install.sh run     what building and running needs
#   tests/install.sh test    that, and what tests/run.sh needs
#   tests/install.sh package what packaging/build.sh and the test of the packages need
set -euo pipefail

readonly run_packages=(
  g++ cmake ninja-build pkg-config libxxhash-dev libboost-program-options-dev libjemalloc-dev
  libfmt-dev libspdlog-dev nlohmann-json3-dev libibverbs-dev librdmacm-dev nettle-dev libsystemd-dev
  prometheus-cpp-dev libedit-dev libzookeeper-mt-dev libevent-dev
)
readonly test_packages=(
  clang-19 libclang-rt-19-dev libgtest-dev libgmock-dev libboost-context-dev clang-format mandoc groff-base ccache
  procps python3 spin strace bash-completion
  # for the bindings for Python, their tests, and what they are compared with
  python3-dev pybind11-dev python3-pytest python3-numpy mypy python3-redis python3-hiredis
  # for tests/vm.sh
  qemu-system-x86 iproute2 kmod xz-utils ibverbs-providers ibverbs-utils
  # for tests/power, in it
  dmsetup e2fsprogs xfsprogs
  # beside it, in plov-bench fabric
  perftest
  # beside it, in plov-bench compare
  liblmdb-dev libcuckoo-dev libhiredis-dev libmemcached-dev libssl-dev redis-server redis-tools memcached
  # clients of plov-door
  python3-pymemcache libmemcached-tools
  # plots in the pages of plov-bench, and what looks at them
  libjs-chart.js chromium-headless-shell
  # promtool, which looks at what plovd --metrics serves
  prometheus
  # an ensemble, in tests/cluster
  zookeeper default-jre-headless
)
# The rest of the Build-Depends of debian/control, and what judges and tries packages.
readonly package_packages=(
  build-essential debhelper git lintian ccache debootstrap
  liblmdb-dev libcuckoo-dev libhiredis-dev libmemcached-dev libssl-dev libjs-chart.js
  dh-python pybind11-dev python3-dev
)

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

case "${1:-}" in
  run) packages=("${run_packages[@]}") ;;
  test) packages=("${run_packages[@]}" "${test_packages[@]}") ;;
  package) packages=("${run_packages[@]}" "${package_packages[@]}") ;;
  *)
    echo "usage: tests/install.sh run|test|package" >&2
    exit 2
    ;;
esac

command -v dpkg-query > /dev/null || fail "this is not Debian; install the like of: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
  # The status of a package that dpkg has never heard of is the empty string.
  status=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2> /dev/null || true)
  grep -qx installed <<< "$status" || missing+=("$package")
done
((${#missing[@]} > 0)) || exit 0

if ((EUID == 0)); then
  as_root=(env)
elif command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
  as_root=(sudo -n env)
else
  fail "missing: ${missing[*]}; to install them, run as root: tests/install.sh $1"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# apt ARGUMENTS...: quiet, and shows what apt-get said only when it fails.
apt() {
  "${as_root[@]}" DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
    -o Acquire::Retries=3 -y "$@" > "$log" 2>&1 < /dev/null || {
    tail -n 40 "$log" >&2
    fail "apt-get $1 failed; missing: ${missing[*]}"
  }
}

# Some of them are daemons, which are to be there, not to run: Debian asks this before it starts one.
readonly policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  trap 'rm -f "$log"; "${as_root[@]}" rm -f "$policy"' EXIT
  # shellcheck disable=SC2016
  "${as_root[@]}" sh -c 'printf "#!/bin/sh\nexit 101\n" > "$0" && chmod 755 "$0"' "$policy"
fi

echo "install.sh: installing ${missing[*]}"
apt update
apt install --no-install-recommends "${missing[@]}"
