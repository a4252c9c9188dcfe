#!/usr/bin/env bash
# Installs plov from a build folder, builds the programs of this folder and the examples against
# what was installed, with CMake and with pkg-config, and runs them against the installed plovd.
# Prints "passed NAME" or "failed NAME" for each check.
#
#   tests/consumer/run.sh BUILD_FOLDER
# shellcheck disable=SC2317  # `check` calls the functions
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here build=$1
readonly work=$build/consumer
rm -rf "$work"
mkdir -p "$work/pkg-config/examples"

# Short enough for the name of a Unix socket, and without the spaces that the build folder's name may
# have and pkg-config cannot carry.
scratch=$(mktemp -d)
readonly scratch prefix=$scratch/prefix
server=""
failed=0

on_exit() {
  if [[ -n $server ]]; then kill -KILL "$server" 2> /dev/null || true; fi
  rm -rf "$scratch"
}
trap on_exit EXIT
trap 'exit 143' INT TERM

# check NAME COMMAND...
check() {
  local name=$1
  shift
  if "$@"; then echo "passed $name"; else
    echo "failed $name"
    failed=1
    return 1
  fi
}

install_plov() { cmake --install "$build" --prefix "$prefix"; }

build_with_cmake() {
  cmake -S "$here" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_BUILD_TYPE=Release && cmake --build "$work/cmake"
}

# pkg_config ARGUMENTS...: as a user whose prefix is not the system's calls it.
pkg_config() {
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name plov.pc -print -quit)") pkg-config "$@" plov
}

# The library is not where the loader looks by itself, so the programs are told where it is.
library_flags() {
  local flags
  flags=$(pkg_config --cflags --libs) || return 1
  echo "$flags -Wl,-rpath,$(pkg_config --variable=libdir)"
}

build_with_pkg_config() {
  local flags
  flags=$(library_flags) || return 1
  read -ra flags <<< "$flags"
  g++ -std=c++23 "$here/main.cc" -o "$work/pkg-config/consumer_cc" "${flags[@]}" &&
    gcc -std=c11 "$here/main.c" -o "$work/pkg-config/consumer_c" "${flags[@]}"
}

# The examples as they were installed.
build_examples() {
  local flags source name folder
  flags=$(library_flags) || return 1
  read -ra flags <<< "$flags"
  folder=$(dirname "$(find "$prefix" -path '*/doc/plov/examples/hello.cc' -print -quit)")
  for source in "$folder"/*.cc "$folder"/*.c; do
    name=$work/pkg-config/examples/$(basename "$source")
    if [[ $source == *.c ]]; then
      gcc -std=c11 "$source" -o "${name%.c}_c" "${flags[@]}" || return 1
    else
      g++ -std=c++23 "$source" -o "${name%.cc}" "${flags[@]}" || return 1
    fi
  done
}

# find_package must refuse a release that may differ.
versions_are_checked() {
  mkdir -p "$work/version"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(version LANGUAGES CXX)' \
    'find_package(plov 9.9 QUIET)' 'if(plov_FOUND)' '  message(FATAL_ERROR "9.9 was found")' \
    'endif()' 'find_package(plov 0.1 REQUIRED)' > "$work/version/CMakeLists.txt"
  cmake -S "$work/version" -B "$work/version/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
}

manual_is_installed() {
  local page
  for page in man3/plov_client.3 man3/plov_c.3; do
    [[ -n $(find "$prefix" -path "*/$page" -print -quit) ]] || return 1
  done
}

start_server() {
  local tries
  : > "$scratch/ready"
  "$(find "$prefix" -name plovd -type f -perm -u+x -print -quit)" \
    --listen "shm:$scratch/plov.sock" --memory 64M > "$scratch/ready" &
  server=$!
  for ((tries = 0; tries < 300; ++tries)); do
    if grep -q '^plovd: ready on ' "$scratch/ready"; then return; fi
    kill -0 "$server" 2> /dev/null || return 1
    sleep 0.1
  done
  return 1
}

stop_server() {
  kill -TERM "$server" || return 1
  wait "$server" || return 1
  server=""
}

check install install_plov || exit 1
check build-cmake build_with_cmake || true
check build-pkg-config build_with_pkg_config || true
check build-examples build_examples || true
check versions versions_are_checked || true
check manual manual_is_installed || true
if check start start_server; then
  for program in cmake/consumer_cc cmake/consumer_c pkg-config/consumer_cc pkg-config/consumer_c \
    pkg-config/examples/hello pkg-config/examples/hello_c; do
    check "run-$program" timeout 60 "$work/$program" "shm:$scratch/plov.sock" || true
  done
  check stop stop_server || true
fi
exit "$failed"
