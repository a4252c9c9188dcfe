/* Warm memory beside the log: a server is killed at any store, starts again from its memory, the tail
 * beside it and what of the log was written, and can be killed in that start as well.
 *
 * Rule: D12 of plov(7); server/store_log.cc, server/warm_tail.cc, server/unlogged.cc and
 * server/warm_start.cc. Property: when it serves again, memory, sessions and log are alike the state
 * after some first writes, which are all that were finished and perhaps the one that was under way.
 * So nothing is lost, no retry is applied twice, and a later start from the log alone comes to the
 * same.
 *
 * Scope. One key, PUTs and DELETEs of it by two clients, in every mode; any number of kills.
 *
 * Abstraction. A version is a write's number. What the log has written is durable (log_end.pml is of
 * what is not), so the tail keeps a write until then. A write that was never made leaves no version.
 *
 *   switch NOT_INTENDED     a PUT is not announced before the bucket changes
 *   switch INTENDED_TAKEN   one that was announced counts as applied, wherever it was killed
 *   switch DELETE_NOT_TOLD  a DELETE is noted when the bucket has changed
 *   switch TOLD_TOO_SHORT   the tail lets go of a write when it is appended, not written
 *   switch PUBLISHED_EARLY  the memory is said to have a write before it has
 *   switch NEWER_REPLACED   replay takes no notice of what is newer in memory
 *   switch SUPERSEDED_LEFT  a write that another one took the place of is not logged
 *   switch FORGOTTEN_FIRST  the tail is emptied before the log has what is in it
 */
#define WRITES 3

#define PUT 1
#define DELETE 2
#define SUPERSEDED 3

bool strict;
byte last;               /* writes, the one under way included */
byte done;               /* that are finished */
byte kind[WRITES + 1];
byte client[WRITES + 1]; /* 1 or 2 */

/* ---- what outlives the server ---- */

byte item;               /* its version in memory; 0: none */
bool tail[WRITES + 1];
byte intended;           /* 0: none */
byte published;          /* memory has all of the log up to this one */
byte written;            /* the log's last */
byte logged[WRITES + 1]; /* kinds; 0: no such write */

/* ---- what does not ---- */

#define IDLE 0
#define PUTS 1     /* announced */
#define STORED 2   /* its bucket has changed */
#define APPENDED 3
#define NOTED 4
#define DELETES 5  /* appended */
#define ERASES 6   /* noted */
#define PENDS 7    /* strict: appended, and not published before it is written */
#define CHANGED 8  /* strict: its bucket has changed */
#define STARTS 9
#define REPLAYED 10
#define LOGS 11
byte stage;
byte appended;
byte known1, known2;      /* sessions: the last write of each client */
byte plan[WRITES + 1];    /* what the start is to log */
byte i, end, state, once1, once2; /* 0 but within a step */

inline Know(v) {
  if
  :: client[v] == 1 && known1 < v -> known1 = v
  :: client[v] == 2 && known2 < v -> known2 = v
  :: else
  fi
}

/* ---- the shard ---- */

#ifdef NOT_INTENDED
#define INTEND(v) skip
#else
#define INTEND(v) intended = v
#endif

inline Finish() { done = last; stage = IDLE }

inline Kill() {
  appended = 0; known1 = 0; known2 = 0;
  i = 1;
  do :: i <= WRITES -> plan[i] = 0; i++ :: else -> break od;
  i = 0;
  stage = STARTS
}

active proctype Shard() {
  if :: strict = true :: true fi;
  do
  :: atomic { stage == IDLE && last < WRITES ->
      last++;
      if :: client[last] = 1 :: client[last] = 2 fi;
      if
      :: kind[last] = PUT
      :: item != 0 -> kind[last] = DELETE
      fi;
      if
      :: strict -> appended = last; stage = PENDS
      :: !strict && kind[last] == PUT -> INTEND(last); stage = PUTS
      :: !strict && kind[last] == DELETE -> appended = last; stage = DELETES
      fi
    }
#ifdef PUBLISHED_EARLY
  :: d_step { stage == PENDS && written == last -> published = last }
#endif
  :: d_step { stage == PENDS && written == last ->
      item = (kind[last] == PUT -> last : 0);
      stage = CHANGED
    }
  :: d_step { stage == CHANGED -> published = last; Finish() }
  :: d_step { stage == PUTS -> item = last; stage = STORED }
  :: d_step { stage == STORED -> appended = last; stage = APPENDED }
  :: d_step { stage == APPENDED -> tail[last] = true; stage = NOTED }
  :: d_step { stage == NOTED -> published = last; Finish() }
#ifdef DELETE_NOT_TOLD
  :: d_step { stage == DELETES -> item = 0; stage = ERASES }
  :: d_step { stage == ERASES -> tail[last] = true; Finish() }
#else
  :: d_step { stage == DELETES -> tail[last] = true; stage = ERASES }
  :: d_step { stage == ERASES -> item = 0; Finish() }
#endif
  od
}

active proctype Log() {
  do
  :: d_step { stage < STARTS && written < appended ->
      written++;
      logged[written] = kind[written]
    }
  od
}

/* WarmTail::HasRoom. */
#ifdef TOLD_TOO_SHORT
#define IS_KEPT_FOR (stage == IDLE -> appended : written)
#else
#define IS_KEPT_FOR written
#endif
active proctype Tail() {
  do
  :: d_step { stage < STARTS && tail[1] && IS_KEPT_FOR >= 1 -> tail[1] = false }
  :: d_step { stage < STARTS && tail[2] && IS_KEPT_FOR >= 2 -> tail[2] = false }
  :: d_step { stage < STARTS && tail[3] && IS_KEPT_FOR >= 3 -> tail[3] = false }
  od
}

/* ---- the kill, and the next start ---- */

#ifdef NEWER_REPLACED
#define HAS_NEWER(v) false
#else
#define HAS_NEWER(v) (item > (v))
#endif

/* DurableLog::Recover. */
inline Replay() {
  i = 1;
  do
  :: i <= written ->
    if
    :: logged[i] != 0 -> Know(i);
      if
      :: i > published && !HAS_NEWER(i) && logged[i] == PUT -> item = i
      :: i > published && !HAS_NEWER(i) && logged[i] == DELETE -> item = 0
      :: else
      fi
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = 0
}

#ifdef INTENDED_TAKEN
#define IS_APPLIED(v) true
#else
#define IS_APPLIED(v) (tail[v] || item == (v))
#endif

/* Unlogged::Take. */
inline Take() {
  i = written + 1;
  do
  :: i <= last ->
    if
    :: tail[i] && kind[i] == DELETE ->
      if :: item < i -> item = 0 :: else fi
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = written + 1;
  do
  :: i <= last ->
    if
    :: (tail[i] || intended == i) && IS_APPLIED(i) ->
      Know(i);
      if
      :: tail[i] && kind[i] == DELETE -> plan[i] = DELETE
      :: !(tail[i] && kind[i] == DELETE) && item == i -> plan[i] = PUT
#ifdef SUPERSEDED_LEFT
      :: else
#else
      :: else -> plan[i] = SUPERSEDED
#endif
      fi
    :: !((tail[i] || intended == i) && IS_APPLIED(i)) && item == i -> plan[i] = PUT
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = 0
}

inline Forget() {
  intended = 0; tail[1] = false; tail[2] = false; tail[3] = false
}

/* What the log alone leads to. */
inline CheckLog() {
  i = 1;
  do
  :: i <= written ->
    if
    :: logged[i] == PUT -> state = i
    :: logged[i] == DELETE -> state = 0
    :: else
    fi;
    if
    :: logged[i] != 0 && client[i] == 1 -> once1 = i
    :: logged[i] != 0 && client[i] == 2 -> once2 = i
    :: else
    fi;
    i++
  :: else -> break
  od;
  assert(state == item && once1 == known1 && once2 == known2);
  i = 0; state = 0; once1 = 0; once2 = 0
}

/* The state after the first `end` writes. */
inline CheckFirst() {
  end = (known1 > known2 -> known1 : known2);
  assert(end == done || end == last);
  i = 1;
  do
  :: i <= end ->
    state = (kind[i] == PUT -> i : 0);
    if :: client[i] == 1 -> once1 = i :: else -> once2 = i fi;
    i++
  :: else -> break
  od;
  assert(state == item && once1 == known1 && once2 == known2);
  i = 0; state = 0; once1 = 0; once2 = 0
}

inline Serve() {
  CheckLog();
  CheckFirst();
  i = end + 1;
  do :: i <= WRITES -> kind[i] = 0; client[i] = 0; logged[i] = 0; i++ :: else -> break od;
  i = 1;
  do :: i <= WRITES -> plan[i] = 0; i++ :: else -> break od;
  i = 0;
  Forget();
  last = end; done = end; published = end; written = end; appended = end;
  end = 0; known1 = 0; known2 = 0;
  stage = IDLE
}

active proctype Next() {
  do
  :: d_step { stage < STARTS && last > 0 -> Kill() }
  :: d_step { stage > STARTS -> Kill() }
  :: d_step { stage == STARTS -> Replay(); stage = REPLAYED }
  :: d_step { stage == REPLAYED -> Take();
#ifdef FORGOTTEN_FIRST
      Forget();
#endif
      stage = LOGS
    }
  /* Unlogged::Log, as far as it comes. */
  :: d_step { stage == LOGS && written < last -> written++; logged[written] = plan[written] }
  :: d_step { stage == LOGS && written == last -> Serve() }
  od
}
