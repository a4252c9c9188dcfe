#!/usr/bin/env bash
# A user whom the socket does not let in is told so. Needs root, to become that user.
# shellcheck source=tests/cli/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ((EUID != 0)) || ! command -v setpriv > /dev/null; then
  echo "skipped: needs root and setpriv"
  exit 77
fi
if ! "${as_nobody[@]}" "$plov" --version > /dev/null 2>&1; then
  echo "skipped: other users cannot run $plov"
  exit 77
fi

chmod 755 "$work"
start_server
expect 0 put a Ada
root_plov=$plov
plov_as_nobody() { "${as_nobody[@]}" "$root_plov" "$@"; }

# nobody STATUS ARGUMENT...
nobody() {
  local wanted=$1
  shift
  status=0
  plov_as_nobody "$@" > "$work/out" 2> "$work/err" || status=$?
  check_status "$wanted" "$@"
}

for words in 'get a' 'put a b' dump ping; do
  # shellcheck disable=SC2086
  nobody 3 $words && says "no permission on $work/s.sock: run as the server's user"
done
nobody 3 doctor && shows '^PROBLEM  server: no permission' && shows 'mend: .*chmod'

chmod 0666 "$work/s.sock" # the operator opens it to all
nobody 0 get a && out 'Ada\n'
end_server TERM

# A folder that hides the socket.
start_server
chmod 700 "$work"
nobody 3 get a && says 'no permission'
end_server TERM

# Readers read, also what they cannot send: large values.
chmod 755 "$work"
head -c 100000 /dev/zero | tr '\0' x > "$work/large"
for options in '--writers @0' '--readers 65534' '--writers root --readers @65534'; do
  # shellcheck disable=SC2086
  start_server $options
  chmod 0666 "$work/s.sock"
  expect 0 put a Ada
  "$plov" put large - < "$work/large"
  nobody 0 get a && out 'Ada\n'
  nobody 0 get large
  cmp -s <(head -c 100000 "$work/out") "$work/large" || fail "a reader's large value"
  nobody 0 ping
  for words in 'put a b' 'delete a' sync snapshot "put c $(printf 'x%.0s' {1..2000})"; do
    # shellcheck disable=SC2086
    nobody 3 $words && says 'this client may only read'
  done
  status=0
  plov_as_nobody put large - < "$work/large" > "$work/out" 2> "$work/err" || status=$?
  ((status == 3)) && says 'this client may only read'
  expect 0 get a && out 'Ada\n'
  end_server TERM
done
start_server --writers 65534
chmod 0666 "$work/s.sock"
nobody 0 put a Bob
expect 0 get a && out 'Bob\n'
end_server TERM
start_server --writers root --readers 12345
chmod 0666 "$work/s.sock"
nobody 3 get a && says 'refuses this user'
end_server TERM

# Who may write looks at the settings; the server's user and root change them.
start_server
chmod 0666 "$work/s.sock"
nobody 0 config get spin-us
nobody 3 config set spin-us 1 && says 'only root and the server.s user may change how it runs'
nobody 3 drain && says 'only root'
nobody 3 drain --cancel && says 'only root'
expect 0 ping
end_server TERM
