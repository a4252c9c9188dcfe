#!/usr/bin/env bash
# plov-torture --log: short runs in which the server is killed and goes on with its log, in each mode
# of --commit; a server that keeps less than it says; folders and options that cannot be. Called with
# the paths of plovd, plov and plov-torture.
# shellcheck source=tests/torture/tool.sh
source "$(dirname "${BASH_SOURCE[0]}")/tool.sh"

# Wrong command lines.
torture 2 --log '' && says '\-\-log'
torture 2 --commit acked && says '\-\-commit needs \-\-log'
torture 2 --log "$work/log" --commit nonsense && says 'strict, acked or async'
torture 2 --log "$work/log" --servers 2 && says '\-\-servers 2'
torture 2 --transactions --log "$work/log" --commit async && says 'strict or acked'
torture 2 --server "$uri" --log "$work/log" && says 'own'
torture 2 check --commit nonsense "$work/none" && says 'strict, acked or async'

# Folders that cannot be: in one line, what the server says of them included.
one_line() { [[ $(wc -l < "$work/err") == 1 ]] || fail "it said $(head -c 500 "$work/err")"; }
mkdir "$work/used" && touch "$work/used/0.1.log"
torture 3 --plovd "$plovd" --log "$work/used" && says 'not empty' && one_line
[[ -e $work/used/0.1.log ]] || fail "the log of somebody else is gone"
torture 3 --plovd "$plovd" --log "$work/used/0.1.log" && says 'this is not a folder' && one_line
torture 3 --plovd "$plovd" --log "$work/none/log" && says 'cannot make the folder' && one_line

# Killed again and again, nothing is wrong, and nothing is left.
mkdir "$work/empty"
for run in strict:log acked:log async:empty; do
  torture '0|4' --plovd "$plovd" --log "$work/${run#*:}" --commit "${run%:*}" --duration 4s \
    --faults kill-server,kill-client,stop --keys 5000 --json "$work/v.json"
  verdict "v['counts']['violations'] == 0 and v['options']['commit'] == '${run%:*}'"
  verdict "v['counts']['server_lives'] == 1 + v['faults']['kill-server']"
  verdict "v['counts']['surveyed'] > 0 or v['faults']['kill-server'] == 0"
  shows "^log  *commit ${run%:*}: "
done
for commit in strict acked; do
  torture '0|4' --plovd "$plovd" --transactions --log "$work/log" --commit "$commit" --duration 4s \
    --faults kill-server,kill-client,stop --keys 5000 --json "$work/v.json"
  verdict "v['counts']['violations'] == 0 and v['options']['transactions']"
  verdict "('$commit' == 'acked' and v['faults']['kill-server'] > 0) == (v['transactions']['surveyed'] > 0)"
done
[[ ! -e $work/log && -z $(ls -A "$work/empty") ]] || fail "a log was left"

# A server that keeps no log, and one that goes on with an older one each fourth time, are found out.
cat > "$work/forgetful" << END
#!/bin/sh
unset PLOVD_LOG PLOVD_COMMIT PLOVD_LOG_SEGMENT
exec "$plovd" "\$@"
END
cat > "$work/turned-back" << END
#!/bin/sh
echo >> "$work/starts"
case \$((\$(wc -l < "$work/starts") % 4)) in
  2) rm -rf "$work/older" && cp -r "$work/log" "$work/older" ;;
  0)
    rm -rf "$work/log" && mv "$work/older" "$work/log"
    for word in "\$@"; do  # with memory that is newer it would be refused
      [ "\$former" = --warm ] && rm -f "\$word" "\$word.tail"
      former=\$word
    done
    ;;
esac
exec "$plovd" "\$@"
END
chmod +x "$work/forgetful" "$work/turned-back"
for run in forgetful:strict:1 forgetful:acked:1 turned-back:async:3; do
  IFS=: read -r server_name commit kills <<< "$run"
  torture '1|4' --plovd "$work/$server_name" --log "$work/log" --commit "$commit" --duration 30s \
    --faults kill-server --keys 5000 --json "$work/v.json"
  verdict "v['counts']['violations'] > 0 or v['faults']['kill-server'] < $kills"
  ((status == 4)) && continue # the machine is slow
  verdict "v['findings'][0]['kills'] and v['findings'][0]['commit'] == '$commit'"
  shows '^key [0-9]*: \(lost\|after a kill\)' && shows 'KILL'
  # What it has written is judged as the run was.
  for finding in "$work"/v.key*.json; do
    torture 1 check "$finding"
  done
  rm -rf "$work"/v.key* "$work/log"
done
