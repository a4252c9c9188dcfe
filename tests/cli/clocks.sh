#!/usr/bin/env bash
# Items with a time to live between hosts whose clocks have nothing in common: plov runs in time
# namespaces whose monotonic clocks are a day ahead of the server's and half an hour behind.
# Called with the paths of plovd and plov. Exit status: 77 where no time namespace can be made.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# elsewhere SECONDS ARGUMENT...: plov with clocks that show so much more.
elsewhere() {
  local seconds=$1
  shift
  unshare --user --map-root-user --time --fork --monotonic "$seconds" --boottime "$seconds" \
    "$plov" "$@"
}

uptime=$(cut -d. -f1 /proc/uptime)
behind=-$((uptime < 1800 ? uptime / 2 : 1800))
if ! elsewhere 86400 --version > /dev/null 2>&1; then
  echo "no time namespace can be made here"
  exit 77
fi
start_server
for shift in 0 86400 "$behind"; do
  elsewhere "$shift" put "long$shift" v --ttl 600s || fail "put --ttl 600s, $shift s away"
  elsewhere "$shift" put "short$shift" v --ttl 1s || fail "put --ttl 1s, $shift s away"
done
for shift in 0 86400 "$behind"; do
  for writer in 0 86400 "$behind"; do
    [[ $(elsewhere "$shift" get "long$writer") == v ]] ||
      fail "stored $writer s away for 600 s, it is absent $shift s away"
  done
done
sleep 2.1 # a time to live ends up to a second later than was asked for
for shift in 0 86400 "$behind"; do
  for writer in 0 86400 "$behind"; do
    status=0
    elsewhere "$shift" get "short$writer" > "$work/out" 2>&1 || status=$?
    ((status == 1)) || fail "stored $writer s away for 1 s, it is still there $shift s away"
  done
done
end_server TERM
