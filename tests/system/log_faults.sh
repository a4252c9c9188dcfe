#!/usr/bin/env bash
# plovd --log under a disk that fails, is full, or a kill, at one system call of its log after the other:
# what was acknowledged is there again, what was deleted stays deleted, and nothing of it counts as damage.
#
#   log_faults.sh PLOVD PLOV
#
# PLOV_FAULTS: unset, 60 seconds of a spread over all injections; "all", an hour; or one, as a failure names it:
# "MODE PHASE CALL FAULT N", such as "strict running pwritev EIO 7".
# Exit status: 77 where strace cannot trace.
#
#   mode   what --commit says
#   phase  first: the start in an empty folder; again: the start on a log with a snapshot and several
#          segments; running: strace comes when the server is ready, so each of its threads counts from there
#   fault  EIO or ENOSPC, once in each thread; EIO+ or ENOSPC+, from there on; KILL
#   N      which call of that kind in a thread
# shellcheck source=tests/cli/common.sh
source "$(dirname "$0")/../cli/common.sh"
readonly seconds_max=60
calls=(pwritev pwrite64 fdatasync fsync renameat renameat2 openat unlinkat linkat pread64 mkdir mkdirat)
readonly load_count=2000
dir=$work/log
base=$work/base
pad=$(repeat x 600)
filters=() # strace's: the log's files and folders only
tracer=""

# The state, by key: what is durable, what the server has acknowledged since (async), in order, and what
# nobody knows of. The absence of a key is the value "-".
declare -A sure acked maybe base_sure
# Of what is acked, the commands that wrote it.
declare -A acked_by
command_number=0

# --- Injections

# inject CALL FAULT N: the options of strace, in $injection.
inject() {
  local when=$3 what
  [[ $2 != *+ ]] || when=$3+
  case $2 in
    KILL) what=signal=SIGKILL ;;
    *) what=error=${2%+} ;;
  esac
  injection=(-f -qq -s 0 -o "$work/trace" -e "trace=$1" -e "inject=$1:$what:when=$when" "${filters[@]}")
}

# is_alive: the server.
is_alive() { [[ -n $server ]] && kill -0 "$server" 2> /dev/null; }
is_ready_or_dead() { grep -q '^plovd: ready on ' "$work/ready" || ! is_alive; }
# is_traced PID: all its threads are.
is_traced() { ! grep -h '^TracerPid:' "/proc/$1"/task/*/status | grep -qv '[1-9]'; }
# is_attached_or_dead PID
is_attached_or_dead() {
  ! kill -0 "$1" 2> /dev/null || ! kill -0 "$tracer" 2> /dev/null || is_traced "$1"
}

# launch [COMMAND...]: plovd on the log, as that command's last words, until it is ready or dead.
launch() {
  : > "$work/ready"
  "$@" "$plovd" --listen "$uri" --log-level warn --memory 64M --shards 1 --log "$dir" \
    --log-segment 1M --commit "$mode" > "$work/ready" 2> "$work/server" 3>&- &
  server=$!
  wait_for is_ready_or_dead
}

# attach PID: with the options in $injection.
attach() {
  strace "${injection[@]}" -p "$1" 2> /dev/null 3>&- &
  tracer=$!
  wait_for is_attached_or_dead "$1"
}
detach() {
  [[ -n $tracer ]] || return 0
  kill -INT "$tracer" 2> /dev/null || true
  wait "$tracer" 2> /dev/null || true
  tracer=""
}

# bury: waits for a server that has ended, its exit status in $status.
bury() {
  status=0
  wait "$server" 2> /dev/null || status=$?
  server=""
  detach
}

# --- Writes, and what is known of them

# note KEY VALUE: the outcome of the last run, which wrote that.
note() {
  case $status in
    0)
      acknowledged_count=$((acknowledged_count + 1))
      if [[ $mode == async ]]; then
        acked[$1]+=" $2"
        acked_by[$1]+=" $command_number"
      else
        sure[$1]=$2
      fi
      ;;
    3)
      # A refusal tells of no write.
      if grep -q -e "the disk of the server's log is full" -e 'cannot write its log' "$work/err"; then
        refused_count=$((refused_count + 1))
      else
        unknown_count=$((unknown_count + 1))
        maybe[$1]+=" $2"
      fi
      ;;
    *) fail "$what: a write ended with $status" ;;
  esac
}

# plov_does ARGUMENT...: false when there is no server for it.
plov_does() {
  is_alive || return 1
  command_number=$((command_number + 1))
  run --timeout "$deadline" "$@"
  ((status != 124)) || fail "$what: plov $1 does not end"
}
put() { if plov_does put "$1" "$2"; then note "$1" "$2"; fi; }
delete() {
  plov_does delete "$1" || return 0
  # It was absent already: nothing to note that was not noted.
  ((status == 1)) || note "$1" -
}
# load ROUND: all of them or, where it fails, nobody knows which.
load() {
  local i
  plov_does load "$work/items$1" || return 0
  if ((status == 0)); then
    for ((i = 1; i <= load_count; ++i)); do note "load$i" "r$1"; done
  else
    unknown_count=$((unknown_count + load_count))
    for ((i = 1; i <= load_count; ++i)); do maybe[load$i]+=" r$1"; done
  fi
}
# settle: what was acknowledged is durable now.
settle() {
  local key
  for key in "${!acked[@]}"; do sure[$key]=${acked[$key]##* }; done
  acked=() acked_by=()
}
sync_all() {
  plov_does sync || return 0
  ((status != 0)) || settle
}

# The script.
work_on() {
  local i snapshot=(snapshot)
  [[ $fault != *+ ]] || snapshot+=(--no-wait) # which waits a minute for a disk
  for i in 1 2 3; do put "key$i" "a$i"; done
  put key1 b1
  delete key2
  load 1
  put load7 changed
  delete load8
  sync_all
  plov_does "${snapshot[@]}" || return 0
  put key2 c2
  delete key3
  load 2
  delete load9
  sync_all
  delete key1
  put key3 d3
  put last "$n"
  # What was restored, and not written since.
  plov_does get kept && is_alive || return 0
  ((status == 0)) || fail "$what: a GET ended with $status"
}

# --- What must hold

# write_state: a line for each key: key, what is durable, what else it may be, and the commands that
# made it that, where this is known of all.
write_state() {
  local key by
  for key in "${!sure[@]}" "${!acked[@]}" "${!maybe[@]}"; do
    by=${acked_by[$key]:-}
    [[ -z ${maybe[$key]:-} ]] || by=unknown
    printf '%s\t%s\t%s\t%s\n' "$key" "${sure[$key]:--}" "${acked[$key]:-}${maybe[$key]:-}" "$by"
  done | sort -u > "$work/state"
}
# check_items: the server has what the state says, and of what could be lost a beginning.
check_items() {
  write_state
  run dump
  ((status == 0)) || fail "$what: dump ended with $status"
  awk -F '\t' -v "pad=$pad" '
    # Of a load, a part may be lost.
    function bound(key, value,   values, by, count, i, at, last) {
      if (commands[key] ~ /unknown/) return
      count = split(sure[key] other[key], values, " ")
      split("0 " commands[key], by, " ")
      for (i = 1; i <= count; ++i) if (values[i] == value) { if (at) return; at = i }
      if (by[at] > there) there = by[at]
      if (at == count) return
      last = by[at + 1] + (key ~ /^load/ ? 0.5 : 0)
      if (!lost || last < lost) { lost = last; first = key }
    }
    NR == FNR { sure[$1] = $2; other[$1] = " " $3 " "; commands[$1] = $4; next }
    $2 ~ /^r[0-9]/ && substr($2, 3) == pad { $2 = substr($2, 1, 2) }
    { seen[$1] = $2; if (!($1 in sure)) print $1 " is there" }
    END {
      for (key in sure) {
        value = key in seen ? seen[key] : "-"
        if (value != sure[key] && index(other[key], " " value " ") == 0)
          print key " is " substr(value, 1, 20) ", not " sure[key] ", nor one of:" other[key]
        else
          bound(key, value)
      }
      if (lost && there >= lost) print first " lacks command " int(lost) ", but " there " is there"
    }' "$work/state" "$work/out" > "$work/wrong"
  : > "$work/out"
  [[ ! -s $work/wrong ]] ||
    fail "$what: $(wc -l < "$work/wrong") keys are wrong: $(head -n 3 "$work/wrong")"
}
# check_log STATUS...: that of plov log check is one of these.
check_log() {
  local files=("$dir"/*.log)
  [[ -e ${files[0]} ]] || return 0 # a start that made no segment
  run log check "$dir"
  [[ " $* " == *" $status "* ]] || fail "$what: plov log check ended with $status"
}

# check_start: a server that is not ready was killed, or has refused in one line.
check_start() {
  bury
  hit=1
  if [[ $fault == KILL ]]; then
    ((status == 137)) || fail "$what: the start ended with $status"
  else
    cp "$work/server" "$work/err"
    ((status == 3)) || fail "$what: the start ended with $status"
    [[ $(grep -c '^plovd: ' "$work/server") == 1 ]] || fail "$what: not one line"
  fi
}

# end_life: kills the server, unless the injection has. A server ends by nothing else.
end_life() {
  if is_alive; then
    end_server KILL
    detach
    return
  fi
  bury
  hit=1
  cp "$work/server" "$work/err"
  [[ $fault == KILL && $status == 137 ]] || fail "$what: the server ended by itself with $status"
}

# check_after: the next server, under no injection, has it all and can go on.
check_after() {
  local text
  check_log 0 1
  launch
  text=$(< "$work/server")
  cp "$work/server" "$work/err"
  if ! is_alive; then
    bury
    fail "$what: no start afterwards: status $status"
    return
  fi
  [[ ! $text =~ [Dd]amage ]] || fail "$what: called damage"
  check_items
  run put after "$n"
  check_status 0 put after
  end_server TERM
  check_log 0
}

# --- The runs

# begin: the server under $injection, with what the phase begins with.
begin() {
  local key
  rm -rf "$dir"
  : > "$work/trace"
  if [[ $phase == first ]]; then
    sure[kept]=-
  else
    cp -a "$base" "$dir"
    for key in "${!base_sure[@]}"; do sure[$key]=${base_sure[$key]}; done
  fi
  if [[ $phase != running ]]; then
    launch strace -D "${injection[@]}"
  else
    launch
    attach "$server"
  fi
}

# live MODE PHASE CALL FAULT N: one injection.
live() {
  local what="PLOV_FAULTS='$*'"
  mode=$1 phase=$2 fault=$4 n=$5 hit=0
  sure=() acked=() acked_by=() maybe=()
  deadline=1s # which a command waits for a dead server, and for a disk that goes on failing
  [[ $fault != EIO && $fault != ENOSPC ]] || deadline=10s
  inject "$3" "$fault" "$n"
  begin
  if is_alive && grep -q ready "$work/ready"; then
    if [[ $phase == first ]]; then put kept kept; fi
    work_on
    if [[ $fault == ENOSPC+ && -n $tracer ]] && is_alive; then go_on; fi
    end_life
  else
    check_start
  fi
  if grep -q INJECTED "$work/trace"; then hit=1; fi
  hit_count=$((hit_count + hit))
  check_after
}

# go_on: the disk has room again; the server goes on by itself.
go_on() {
  detach
  wait_for "$plov" put recovered "$n"
  status=0
  note recovered "$n"
  sync_all
  ((status == 0)) || fail "$what: sync ended with $status when the disk had room again"
}

# count: a life without injections, whose calls are counted: lines MODE PHASE CALL COUNT, for each call
# that of the thread that makes most of them.
count() {
  sure=() acked=() acked_by=() maybe=()
  begin
  if [[ $phase == first ]]; then put kept kept; fi
  work_on
  is_alive || fail "no server without an injection: $mode $phase"
  end_life
  awk -v "of=$mode $phase" -F '[ (]+' '
    $2 != "<..." && $2 != "+++" { if (++made[$1, $2] > most[$2]) most[$2] = made[$1, $2] }
    END { for (call in most) print of, call, most[call] }' "$work/trace" | sort >> "$work/counts"
}

# order: all injections, so that each beginning of them is a spread: one of each mode, phase and call
# after the other, from all over its numbers and faults.
order() {
  awk '
    {
      count = split($2 == "running" ? "EIO KILL ENOSPC+ ENOSPC EIO+" : "EIO KILL ENOSPC", faults, " ")
      for (n = 1; n <= $4; ++n) for (i = 1; i <= count; ++i) {
        # Errors that last are told from one another by few of their beginnings.
        if (faults[i] ~ /\+/ && n > 8 && n % 16 != 0) continue
        rank = (n * count + i + NR) * 0.6180339887
        printf "%.6f %d %s %s %s %s %d\n", rank - int(rank), NR, $1, $2, $3, faults[i], n
      }
    }' "$work/counts" | sort -n | awk '{ print ++seen[$2], $0 }' | sort -n -s -k 1,1 | cut -d ' ' -f 4-
}

if ! command -v strace > /dev/null; then
  echo "no strace: tests/install.sh test installs it"
  exit 77
fi
sleep 60 &
server=$!
inject unlinkat EIO 1
strace "${injection[@]}" -p "$server" 2> "$work/err" &
tracer=$!
wait_for is_attached_or_dead "$server"
if ! is_traced "$server"; then
  end_server TERM
  echo "strace cannot trace here: $(head -n 1 "$work/err")"
  exit 77
fi
end_server KILL
detach

known=()
for call in "${calls[@]}"; do
  if strace -o /dev/null -e "trace=$call" true 2> /dev/null; then known+=("$call"); fi
done
calls=("${known[@]}") # an architecture may have renameat2 alone, or no mkdir
filters=(-P "$work" -P "$dir")
for i in {0..40}; do
  for name in "0.$i.log" "0.$i.snapshot" "spare.$i"; do
    filters+=(-P "$dir/$name" -P "$dir/$name.new")
  done
done
for round in 0 1 2; do
  for ((i = 1; i <= load_count; ++i)); do printf 'load%d\tr%d%s\n' "$i" "$round" "$pad"; done > "$work/items$round"
done

# The log that most lives begin with.
mode=strict phase=base fault=EIO n=0 hit=0 deadline=10s what='without an injection'
acknowledged_count=0 unknown_count=0 refused_count=0 hit_count=0
launch
load 0
plov_does snapshot
load 0
put kept kept
put key1 old
put gone old
delete gone
end_server KILL
cp -a "$dir" "$base"
for key in "${!sure[@]}"; do base_sure[$key]=${sure[$key]}; done

if [[ ${PLOV_FAULTS:-some} == *' '* ]]; then
  echo "$PLOV_FAULTS" > "$work/order"
else
  : > "$work/counts"
  injection=(-f -qq -s 0 -o "$work/trace" -e "trace=$(IFS=,; echo "${calls[*]}")" "${filters[@]}")
  for mode in strict acked async; do
    for phase in first again running; do count; done
  done
  ((unknown_count + refused_count == 0)) || fail "$unknown_count writes failed without an injection"
  order > "$work/order"
fi
acknowledged_count=0 unknown_count=0 refused_count=0
begun=$SECONDS lives=0
while read -r -u 4 -a injected; do
  [[ ${PLOV_FAULTS:-} ]] || ((SECONDS - begun < seconds_max)) || break
  live "${injected[@]}"
  lives=$((lives + 1))
  if [[ ${PLOV_FAULTS:-} == all ]] && ((lives % 100 == 0)); then echo "$lives lives, $failures failures"; fi
done 4< "$work/order"
echo "$lives lives of $(wc -l < "$work/order"), $hit_count of them with a call that was injected;" \
  "writes: $acknowledged_count acknowledged, $refused_count refused, $unknown_count unknown"
((lives == 0 || hit_count > 0)) || fail 'no injection was made'
