/* Commits of keys of two shards: their turns, what GETs find meanwhile, and kills of a server whose
 * memory is kept.
 *
 * Rules: W12 with several shards; the journals' decision (plov-format(5), JOURNAL). Properties:
 *   - two GETs, one after the other, never find what a commit wrote and then its other key as it was
 *     before; no write is overwritten by an earlier one;
 *   - a restart, also one that was killed before, finds all of a commit or nothing, all of it if it
 *     was acknowledged or a GET has found some of it, and no bucket torn;
 *   - no two threads wait for each other for ever.
 *
 * Scope. Two shards, each with a thread and one key in one bucket. Each thread PUTs its own key, or
 * commits both keys, until there were WRITES writes. One reader makes two GETs, in either order, for
 * ever. The server is killed at any instant, in a restart too, up to KILLS times.
 *
 * Abstraction. The rewrite of one bucket is a step, as is that of a journal with its checksum: a lone
 * write is whole or has not begun, by the journal of one bucket. A torn READ is as if it had not been
 * posted. Values are the numbers of their writes. What a commit rests on is compared in the turns.
 *
 *   switch RETRACTED_IN_TURN   W12: one shard's bucket is rewritten before the other's loses its seal
 *   switch DECIDED_EARLY       it is decided before the other shard's journal is whole
 *   switch DECIDED_BY_EACH     a journal that is whole is redone
 *   switch DECIDED_LATE        it is decided when both buckets are rewritten
 *   switch FORGOTTEN           a restart forgets the decision with the journal beside it
 *   switch TURNS_IN_ANY_ORDER  a commit takes its own shard's turn first
 *   switch NO_TURN             a PUT needs no turn
 */
#define WRITES 3
#define KILLS 2

byte held[2];  /* the value of each shard's bucket */
bool torn[2];  /* it has lost its seal */
byte entry[2]; /* of each journal: what is to be, of the commit of that number */
bool whole[2];
byte decided; /* in the memory of shard 0 */

bool turn[2];  /* somebody has it */
bool waits[2]; /* each thread: for another turn, with one that it has */
byte count;   /* writes that began */

bool killed;
byte stopped; /* processes that have noticed */

/* What is known of the history. */
bool is_commit[WRITES + 1];
byte under_way;   /* the commit that was begun and not acknowledged; 0: none */
byte promised[2]; /* the last value of each key that somebody knows of */

inline Promise(which, value) {
  promised[which] = (promised[which] < value -> value : promised[which])
}

inline Take(shard) { atomic { !turn[shard] -> turn[shard] = true } }

inline Begin() {
  atomic {
    if
    :: count < WRITES -> count++; number = count
    :: else -> number = 0
    fi
  }
}

inline Store(at) {
  d_step {
    assert(number > held[at]);
    held[at] = number;
    torn[at] = false
  }
}

inline Record(shard) {
  d_step {
    entry[shard] = number;
    whole[shard] = true
  }
}

inline Put() {
#ifndef NO_TURN
  Take(own);
#endif
  Begin();
  if
  :: number > 0 ->
    Store(own);
    Promise(own, number)
  :: else
  fi;
#ifndef NO_TURN
  turn[own] = false
#endif
}

inline Commit() {
#ifdef TURNS_IN_ANY_ORDER
  Take(own);
#else
  Take(0);
#endif
  waits[own] = true;
  assert(!waits[1 - own]);
#ifdef TURNS_IN_ANY_ORDER
  Take(1 - own);
#else
  Take(1);
#endif
  waits[own] = false;
  Begin();
  if
  :: number > 0 ->
    d_step {
      is_commit[number] = true;
      under_way = number
    }
    Record(0);
#ifdef DECIDED_EARLY
    decided = number;
#endif
    Record(1);
#if !defined(DECIDED_EARLY) && !defined(DECIDED_LATE)
    decided = number;
#endif
    torn[0] = true;
#ifdef RETRACTED_IN_TURN
    Store(0);
    torn[1] = true;
    Store(1);
#else
    torn[1] = true;
    Store(0);
    Store(1);
#endif
#ifdef DECIDED_LATE
    decided = number;
#endif
    whole[0] = false;
    whole[1] = false;
    d_step {
      under_way = 0;
      Promise(0, number);
      Promise(1, number)
    }
  :: else
  fi;
  turn[0] = false;
  turn[1] = false
}

proctype Thread(byte own) {
  byte number;
start:
  {
    do
    :: count < WRITES -> Put()
    :: count < WRITES -> Commit()
    :: count == WRITES -> break
    od
  } unless { killed };
end:
  killed;
  d_step {
    number = 0;
    waits[own] = false;
    stopped++
  }
  atomic {
    !killed -> stopped--
  }
  goto start
}

proctype Reader() {
  byte key, first, second, n;
start:
  {
    do
    :: if
       :: key = 0
       :: key = 1
       fi;
       atomic {
         !torn[key] -> first = held[key];
         Promise(key, first)
       }
       atomic {
         !torn[1 - key] -> second = held[1 - key];
         Promise(1 - key, second)
       }
       d_step {
         n = 1;
         do
         :: n <= WRITES ->
           assert(!(is_commit[n] && second < n && n <= first));
           n++
         :: else -> break
         od;
         first = 0;
         second = 0;
         key = 0
       }
    od
  } unless { killed };
  d_step {
    first = 0;
    second = 0;
    key = 0;
    n = 0;
    stopped++
  }
  atomic {
    !killed -> stopped--
  }
  goto start
}

/* A journal that is whole and not decided means nothing: it is cleared. */
inline Redo(shard) {
  if
#ifdef DECIDED_BY_EACH
  :: whole[shard] ->
#else
  :: whole[shard] && entry[shard] == decided ->
#endif
    d_step {
      held[shard] = entry[shard];
      torn[shard] = false
    }
#ifdef FORGOTTEN
    if
    :: shard == 0 -> decided = 0
    :: else
    fi;
#endif
  :: else
  fi;
  whole[shard] = false
}

/* What a restart leaves. */
inline Check() {
  d_step {
    assert(!torn[0] && !torn[1]);
    assert(held[0] >= promised[0] && held[1] >= promised[1]);
    if
    :: under_way > 0 ->
      assert((held[0] >= under_way) == (held[1] >= under_way));
      if
      :: held[0] < under_way -> is_commit[under_way] = false
      :: else
      fi;
      under_way = 0
    :: else
    fi
  }
}

proctype Host() {
  byte kills;
  do
  :: kills < KILLS && stopped == 0 ->
    kills++;
    killed = true;
    stopped == 3;
    d_step {
      turn[0] = false;
      turn[1] = false
    }
  again:
    Redo(0);
    if
    :: kills < KILLS ->
      kills++;
      goto again
    :: true
    fi;
    Redo(1);
    if
    :: kills < KILLS ->
      kills++;
      goto again
    :: true
    fi;
    Check();
    killed = false
  :: break
  od
}

init {
  atomic {
    run Thread(0);
    run Thread(1);
    run Reader();
    run Host()
  }
}
