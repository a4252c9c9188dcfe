#!/usr/bin/env bash
# Installs what is missing, builds plov, and shows its main job on real data of this machine; see --help.
set -euo pipefail

usage() {
  cat << 'END'
usage: client/quickstart.sh [--seconds N]

Installs the missing packages (tests/install.sh run), builds plov into build/, starts a server on a
socket of its own, loads every package name and description that this machine's package index knows,
reads some back, and shows how many GETs a second one client does while the server's CPU time stands
still. Stops the server and leaves nothing running.

  --seconds N  how long to read (3)
  --help       this text
END
}

seconds=3
while (($# > 0)); do
  case "$1" in
    --seconds)
      seconds=${2:-}
      [[ $seconds =~ ^[1-9][0-9]*$ && $seconds != 1 ]] || {
        echo "quickstart.sh: --seconds takes a whole number from 2" >&2
        exit 2
      }
      shift 2
      ;;
    --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
done

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root seconds
readonly build=$root/build
work=$(mktemp -d "${TMPDIR:-/tmp}/plov-quickstart-XXXXXX")
server=""

clean_up() {
  if [[ -n $server ]]; then
    kill -TERM "$server" 2> /dev/null || true
    wait "$server" 2> /dev/null || true
  fi
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n== %s\n' "$*"; }

fail() {
  echo "quickstart.sh: $*" >&2
  exit 1
}

# quiet LOG COMMAND...: shows the end of the log only when the command fails.
quiet() {
  local log=$1
  shift
  "$@" > "$log" 2>&1 < /dev/null || {
    tail -n 40 "$log" >&2
    fail "$1 failed"
  }
}

# built TARGET...: builds them and prints how far it is, by tenths; the end of the log when it fails.
built() {
  cmake --build "$build" --target "$@" 2>&1 < /dev/null | tee "$work/build.log" |
    awk -F'[][/]' '/^\[[0-9]+\/[0-9]+\]/ {
      tenth = int($2 * 10 / $3)
      if (tenth > told) { printf "%d %% of %d steps\n", tenth * 10, $3; fflush(); told = tenth }
    }' || {
    tail -n 40 "$work/build.log" >&2
    fail "the build failed"
  }
}

build_plov() {
  local fresh=()
  # A cache that another generator or another place has left is started anew.
  if [[ -f $build/CMakeCache.txt ]] &&
    ! { grep -qxF 'CMAKE_GENERATOR:INTERNAL=Ninja' "$build/CMakeCache.txt" &&
      grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; }; then
    fresh=(--fresh)
  fi
  # The tests need more packages; a tree that was configured with them keeps them.
  if [[ ! -f $build/CMakeCache.txt ]]; then fresh+=(-DPLOV_TESTS=OFF); fi
  quiet "$work/configure.log" cmake "${fresh[@]}" -S "$root" -B "$build" -G Ninja
  built plovd plov_cli example_read_speed
}

# Prints KEY<TAB>VALUE lines, escaped as `plov load` reads them: package:NAME and its description.
package_lines() {
  awk '
    function finish() {
      if (name != "" && text != "") print "package:" name "\t" text
      name = ""; text = ""; taking = 0
    }
    function escaped(line) { gsub(/\\/, "&&", line); gsub(/\t/, "\\t", line); return line }
    /^Package: / { finish(); name = substr($0, 10); next }
    /^Description(-en)?: / { taking = 1; text = escaped(substr($0, index($0, ": ") + 2)); next }
    /^ / && taking { text = text "\\n" escaped($0); next }
    { taking = 0 }
    END { finish() }'
}

write_packages() {
  apt-cache dumpavail 2> /dev/null | package_lines > "$1" || true
  if (($(wc -l < "$1") < 1000)); then
    source="the installed packages (there is no package index here)"
    dpkg-query -W -f='Package: ${Package}\nDescription: ${Description}\n' | package_lines > "$1"
  fi
}

# The CPU time that all threads of the server have used, in microseconds.
server_cpu_us() {
  cat "/proc/$server/task/"*/schedstat | awk '{ ns += $1 } END { printf "%d\n", ns / 1000 }'
}

# The server spins for a moment after the last request; then its CPU time stands still.
settled_cpu_us() {
  local last now tries
  last=$(server_cpu_us)
  for ((tries = 0; tries < 100; ++tries)); do
    sleep 0.05
    now=$(server_cpu_us)
    if [[ $now == "$last" ]]; then break; fi
    last=$now
  done
  echo "$now"
}

# Runs one client, and looks at the server's CPU time while it reads: from when it has connected to
# shortly before it ends.
read_speed() {
  local before after reader
  "$build/client/examples/read_speed" "$uri" --keys "$work/keys" --seconds "$seconds" "$@" &
  reader=$!
  sleep 0.4
  before=$(settled_cpu_us)
  sleep "$((seconds - 1))"
  after=$(server_cpu_us)
  wait "$reader"
  echo "server's CPU time meanwhile: from $before us to $after us, $((after - before)) us more"
}

start_server() {
  "$build/server/plovd" --listen "$uri" --log "$work/log" > "$work/server.log" 2>&1 &
  server=$!
  for ((tries = 0; tries < 600; ++tries)); do
    if grep -q 'plovd: ready on' "$work/server.log"; then return; fi
    kill -0 "$server" 2> /dev/null || break
    sleep 0.05
  done
  cat "$work/server.log" >&2
  server=""
  fail "the server did not start"
}

say "Installing what is missing"
bash "$root/tests/install.sh" run

say "Building plov into $build"
build_plov

readonly uri=shm:$work/plov.sock
export PLOV_SERVER=$uri
plov=$build/client/plov

say "Starting a server"
start_server
cat "$work/server.log"

source="this machine's package index"
write_packages "$work/packages.tsv"
say "Loading every package name and description of $source"
"$plov" load "$work/packages.tsv"

say "Reading some back: plov get package:bash"
"$plov" get package:bash | head -n 3
cut -f1 "$work/packages.tsv" > "$work/keys"
shuf -n 3 "$work/keys" | while read -r key; do
  printf '\n%s: ' "$key"
  "$plov" get "$key" | head -n 1
done

say "GETs by one client for $seconds s, one at a time, then pipelined; the server takes no part"
sleep 2 # a second after the last write the log says that it is durable, which takes some CPU time
read_speed
read_speed --many

say "What the server says of itself: plov stats"
"$plov" stats

say "Killing the server, and starting it again on its log"
before=$("$plov" dump | sort | cksum)
kill -KILL "$server"
wait "$server" 2> /dev/null || true
start_server
grep -E 'restored|ready' "$work/server.log"
[[ $("$plov" dump | sort | cksum) == "$before" ]] || fail "the items are not the same"
printf 'every item is the same; package:bash: '
"$plov" get package:bash | head -n 1

# As one types it, also where a folder has a space in its name.
printf -v shown '%q' "$build"
cat << END

Next:
  $shown/server/plovd &                     serve on shm:default
  $shown/client/plov put user:1 Ada         store
  $shown/client/plov get user:1             read
  $shown/client/plov --help                 everything else
  $(printf %q "$root/tests/run.sh")         build and pass every test
  cmake --build $shown && cmake --install $shown && ldconfig
                                            build the rest and install, as root; then man plov,
                                            man plovd, man 3 plov_client
END
