/* Commits and Snapshots: two keys that are written together, and read one after the other or
 * together.
 *
 * Rules: W12 and R13; of W3, W4 and R1 to R4 what they rest on. Properties:
 *   - each GET returns what its key held at an instant of the GET, where a commit takes effect as a
 *     whole at one instant. So a GET that begins after another one has found what a commit wrote
 *     never finds its other key as it was before;
 *   - a Snapshot returns what both keys held at one instant of it, so all of a commit or nothing. As
 *     the correct model is checked, that instant is the first READ of its last round.
 *
 * Scope. Key X lives at home. Key Y lives at home or, displaced, in a way that its home lists. The
 * writer PUTs and DELETEs either key alone, and commits any writes of one or both, for ever. Among
 * them are inserts and DELETEs of a displaced key, which rewrite two buckets. Each value is in a
 * record. One reader makes two GETs, of one key or both, or a Snapshot of both, and so for ever. It
 * may know any record that a bucket refers to, and any bucket of Y. Up to WRITES writes are under
 * way or begin between the begin and the end of what the reader does, which can find any state.
 *
 * Abstraction. A commit's buckets lose their seals in any order, and are rewritten in any order.
 * Every rewrite is a step, a READ is atomic, and a torn READ is as if it had not been posted:
 * basic.pml. The search goes over a bucket to its record in one step, and a remembered record is
 * READ at once, as it is in `live`: known.pml. The READs of a round for different keys come in any
 * order. A version, of an item or of a home, is the number of the write that gave it, counted from
 * the begin of what the reader does: what is older is 0 (A6: versions do not come again).
 *
 * The correct model lets a lone write take effect with the bucket that becomes its key's truth, and
 * a commit with the last seal that is taken away. The broken ones (-DOUTSIDE) are held only to what
 * callers can see: a write may take effect anywhere from its begin to its acknowledgement, but all
 * of it at once, and a later GET does not go back behind an earlier one.
 *
 * Not modelled: what a Commit has read, which the shard compares itself; moves and the stash,
 * whose buckets are rewritten with the others; growth; budgets and the GET by message (R6);
 * expiry; crashes.
 *
 *   switch NOT_RETRACTED        W12: the buckets are rewritten with no seal taken away before
 *   switch RETRACTED_IN_TURN    W12: each is rewritten before the next loses its seal
 *   switch ONE_LEFT_SEALED      W12: one bucket keeps its seal until it is rewritten
 *   switch LIVE_AFTER_REWRITE   W12: `live` is cleared after the buckets were rewritten
 *   switch ONE_ROUND            R13: a Snapshot ends after its first round
 *   switch ONE_KEY_COMPARED     R13: it ends when only Y is as in the round before
 *   switch WAY_NOT_COMPARED     R13: of a key that a listed way did not hold, only the home's is
 *   switch ABSENT_IS_ABSENT     R13: of a key that was absent twice no version is compared
 */
#ifdef WAY_NOT_COMPARED
#define WRITES 4 /* fewer show it to no caller, and of these no commit is needed */
#define COMMITS false
#else
#define WRITES 3
#define COMMITS true
#endif
#define ABSENT 7 /* as a value */

#define X 0
#define Y 1

/* Buckets. */
#define X_HOME 0
#define Y_HOME 1
#define Y_WAY 2

byte held[3] = ABSENT; /* the value that each bucket holds: the number of its write */
bool torn[3];
byte version[3];
bool lists;            /* Y's home lists the way */
bool live[2];          /* of the record that the key's bucket refers to */

#define VALUE_OF_Y (held[Y_HOME] != ABSENT -> held[Y_HOME] : held[Y_WAY])

#ifdef LIVE_AFTER_REWRITE
byte former[2] = ABSENT; /* the value of a record that is live and has no bucket any more */
#endif

/* ---- what the keys have held ---- */

byte begun;       /* writes since the reader began */
bool writing;     /* the last of them is not acknowledged ... */
bool in_effect;   /* ... and has taken effect */
byte x[WRITES + 1] = ABSENT, y[WRITES + 1] = ABSENT; /* what the keys held after each */

#define ACKNOWLEDGED (writing -> begun - 1 : begun)

#ifdef OUTSIDE
#define EARLIEST ACKNOWLEDGED
#define LATEST begun
#define Effect() skip
#define Acknowledge() writing = false
#else
#define EARLIEST (writing && !in_effect -> begun - 1 : begun)
#define LATEST EARLIEST
#define Effect() in_effect = true
#define Acknowledge() assert(in_effect); writing = false; in_effect = false
#endif

/* What is of the write under way has number 1 from now on, and everything else 0. */
#define RENUMBERED(number) (writing && (number) == begun -> 1 : 0)

inline Renumber(value) {
  if :: value != ABSENT -> value = RENUMBERED(value) :: else fi
}

inline Forget() {
  Renumber(held[X_HOME]); Renumber(held[Y_HOME]); Renumber(held[Y_WAY]);
#ifdef LIVE_AFTER_REWRITE
  Renumber(former[X]); Renumber(former[Y]);
#endif
  version[X_HOME] = RENUMBERED(version[X_HOME]);
  version[Y_HOME] = RENUMBERED(version[Y_HOME]);
  version[Y_WAY] = RENUMBERED(version[Y_WAY]);
  x[0] = x[ACKNOWLEDGED]; y[0] = y[ACKNOWLEDGED];
  x[1] = (writing -> x[begun] : ABSENT); y[1] = (writing -> y[begun] : ABSENT);
  Renumber(x[0]); Renumber(y[0]); Renumber(x[1]); Renumber(y[1]);
  x[2] = ABSENT; y[2] = ABSENT; x[3] = ABSENT; y[3] = ABSENT;
#if WRITES == 4
  x[4] = ABSENT; y[4] = ABSENT;
#endif
  begun = (writing -> 1 : 0)
}

/* ---- the reader's state, as far as the writer needs it ---- */

#define IDLE 0
#define GETS 1
#define SNAPSHOT 2

byte doing = IDLE;

/* ---- the writer ---- */

#define KEEP 0
#define PUT 1
#define DELETE 2

inline Choose() {
  if :: to_x = KEEP :: to_x = PUT :: held[X_HOME] != ABSENT -> to_x = DELETE fi;
  if
  :: to_y = KEEP
  :: COMMITS || to_x == KEEP -> to_y = PUT
  :: (COMMITS || to_x == KEEP) && VALUE_OF_Y != ABSENT -> to_y = DELETE
  fi;
  if
  :: held[Y_WAY] != ABSENT && to_y != KEEP -> displaced = true
  :: VALUE_OF_Y == ABSENT && to_y == PUT -> displaced = true
  :: held[Y_WAY] == ABSENT -> displaced = false
  :: to_y == KEEP -> displaced = false
  fi;
  if
  :: COMMITS && (to_x != KEEP || to_y != KEEP) -> together = true
  :: to_x == KEEP || to_y == KEEP -> together = false
  fi
}

#define AFTER(to, before) ((to) == KEEP -> (before) : ((to) == PUT -> begun : ABSENT))

inline Begin() {
  begun++; writing = true;
  x[begun] = AFTER(to_x, x[begun - 1]);
  y[begun] = AFTER(to_y, y[begun - 1]);
  due[X_HOME] = to_x != KEEP;
  due[Y_WAY] = displaced;
  due[Y_HOME] = to_y != KEEP && !(displaced && to_y == PUT && held[Y_WAY] != ABSENT)
}

inline ClearLive() {
  if :: to_x != KEEP && live[X] -> live[X] = false :: else fi;
  if :: to_y != KEEP && live[Y] -> live[Y] = false :: else fi
}

/* Gives the bucket of a key what it is to hold. */
inline StoreItem(key, bucket, value) {
#ifdef LIVE_AFTER_REWRITE
  if :: live[key] -> former[key] = held[bucket] :: else fi;
#endif
  held[bucket] = value;
  live[key] = (value) != ABSENT;
  if :: !together -> Effect() :: else fi
}

inline Rewritten(bucket) { version[bucket] = begun; due[bucket] = false; torn[bucket] = false }

inline RewriteXHome() {
  d_step { StoreItem(X, X_HOME, x[begun]); Rewritten(X_HOME) }
}

inline RewriteYHome() {
  d_step {
    if
    :: displaced -> lists = to_y == PUT
    :: else -> StoreItem(Y, Y_HOME, y[begun])
    fi;
    Rewritten(Y_HOME)
  }
}

inline RewriteYWay() {
  d_step { StoreItem(Y, Y_WAY, y[begun]); Rewritten(Y_WAY) }
}

#define RETRACTED(bucket) (!due[bucket] || torn[bucket])

inline Retract(bucket) {
  torn[bucket] = true;
  if :: RETRACTED(X_HOME) && RETRACTED(Y_HOME) && RETRACTED(Y_WAY) -> Effect() :: else fi
}

#ifdef ONE_LEFT_SEALED
#define ENOUGH (due[X_HOME] + due[Y_HOME] + due[Y_WAY] == torn[X_HOME] + torn[Y_HOME] + torn[Y_WAY] + 1)
#else
#define ENOUGH (RETRACTED(X_HOME) && RETRACTED(Y_HOME) && RETRACTED(Y_WAY))
#endif

inline RetractAll() {
  do
  :: d_step { !ENOUGH && !RETRACTED(X_HOME) -> Retract(X_HOME) }
  :: d_step { !ENOUGH && !RETRACTED(Y_HOME) -> Retract(Y_HOME) }
  :: d_step { !ENOUGH && !RETRACTED(Y_WAY) -> Retract(Y_WAY) }
  :: ENOUGH -> break
  od
}

/* W4, where readers find the buckets one by one. */
#if defined(NOT_RETRACTED) || defined(RETRACTED_IN_TURN) || defined(ONE_LEFT_SEALED)
#define ANY_ORDER false
#else
#define ANY_ORDER together
#endif
#define Y_HOME_DUE (due[Y_HOME] && (ANY_ORDER || to_y == PUT || !due[Y_WAY]))
#define Y_WAY_DUE (due[Y_WAY] && (ANY_ORDER || to_y == DELETE || !due[Y_HOME]))

#ifdef RETRACTED_IN_TURN
#define RetractFirst(bucket) torn[bucket] = together
#else
#define RetractFirst(bucket) skip
#endif

inline RewriteAll() {
  do
  :: due[X_HOME] -> RetractFirst(X_HOME); RewriteXHome()
  :: Y_HOME_DUE -> RetractFirst(Y_HOME); RewriteYHome()
  :: Y_WAY_DUE -> RetractFirst(Y_WAY); RewriteYWay()
  :: !due[X_HOME] && !due[Y_HOME] && !due[Y_WAY] -> break
  od
}

active proctype Writer() {
  byte to_x, to_y; /* what is done to the keys */
  bool displaced;  /* Y is written, in its way */
  bool together;   /* by a commit */
  bool due[3];     /* the buckets that are to be rewritten */

  do
  :: atomic {
      begun < WRITES -> Choose();
      if :: to_x == KEEP && to_y == KEEP -> goto Done :: else -> d_step { Begin() } fi
    };
#ifdef LIVE_AFTER_REWRITE
    if :: !together -> ClearLive() :: else fi;
#else
    ClearLive();
#endif
#if !defined(NOT_RETRACTED) && !defined(RETRACTED_IN_TURN)
    if :: together -> RetractAll() :: else fi;
#endif
    RewriteAll();
#ifdef LIVE_AFTER_REWRITE
    former[X] = ABSENT; former[Y] = ABSENT;
#endif
    atomic { Acknowledge(); d_step { if :: doing == IDLE -> Forget() :: else fi } };
Done:
    atomic { to_x = KEEP; to_y = KEEP; displaced = false; together = false }
  od
}

/* ---- the reader ---- */

/* Evidence of a key: the version of the item, or of the home of an absent key. */
#define NOTHING ABSENT
#ifdef ABSENT_IS_ABSENT
#define ABSENT_BY(home) 8
#define ABSENT_BY_BOTH(home, way) 8
#elif defined(WAY_NOT_COMPARED)
#define ABSENT_BY(home) (8 + (home))
#define ABSENT_BY_BOTH(home, way) ABSENT_BY(home)
#else
#define ABSENT_BY(home) (8 + (home))
#define ABSENT_BY_BOTH(home, way) (16 + (home) + 8 * (way))
#endif
#define VALUE(evidence) ((evidence) >= 8 -> ABSENT : (evidence))

#define READ_HOME 0
#define READ_WAY 1
#define CONFIRM 2

#define WANTS_X (doing == GETS && step == READ_HOME || doing == SNAPSHOT && !done[X])
#define WANTS_Y (step == READ_HOME && (doing == GETS || doing == SNAPSHOT && !done[Y]))

/* The first READ of a GET, or of a round. */
inline OnFirst() {
  if
  :: doing == GETS -> from = (from > EARLIEST -> from : EARLIEST)
#ifdef OUTSIDE
  :: doing == SNAPSHOT && seen[X] == NOTHING && seen[Y] == NOTHING -> from = EARLIEST
#else
  :: doing == SNAPSHOT && !done[X] && !done[Y] && step == READ_HOME -> from = EARLIEST
#endif
  :: else
  fi
}

inline EndAll() {
  doing = IDLE; from = 0; second = false;
  done[X] = false; done[Y] = false; stands = true; seen[X] = NOTHING; seen[Y] = NOTHING;
  Forget()
}

#define HELD(key, at) ((key) == X -> x[at] : y[at])

/* The GET is right, and the next one begins no earlier than with what it found. */
inline EndGet(key, value) {
  do :: from <= LATEST && HELD(key, from) != (value) -> from++ :: else -> break od;
  assert(from <= LATEST);
  if :: second -> EndAll() :: else -> second = true fi
}

#ifdef OUTSIDE
#define LAST LATEST
#else
#define LAST from
#endif

inline EndSnapshot() {
  last = LAST;
  do
  :: from <= last && (x[from] != VALUE(seen[X]) || y[from] != VALUE(seen[Y])) -> from++
  :: else -> break
  od;
  assert(from <= last);
  last = 0;
  EndAll()
}

inline EndRound() {
#ifdef ONE_ROUND
  EndSnapshot()
#else
  if
  :: stands -> EndSnapshot()
  :: else -> done[X] = false; done[Y] = false; stands = true
  fi
#endif
}

#ifdef ONE_KEY_COMPARED
#define COMPARED(key) ((key) == Y)
#else
#define COMPARED(key) true
#endif

inline End(key, evidence) {
  d_step {
    found = evidence; step = READ_HOME; home_version = 0; way_version = 0;
    if
    :: doing == GETS -> EndGet(key, VALUE(found))
    :: else ->
      if :: COMPARED(key) && seen[key] != found -> stands = false :: else fi;
      seen[key] = found;
      done[key] = true;
      if :: done[X] && done[Y] -> EndRound() :: else fi
    fi;
    found = 0
  }
}

inline OnXHome() {
  OnFirst();
  if
  :: held[X_HOME] != ABSENT -> End(X, held[X_HOME])
  :: else -> End(X, ABSENT_BY(version[X_HOME]))
  fi
}

inline OnYHome() {
  OnFirst();
  if
  :: held[Y_HOME] != ABSENT -> End(Y, held[Y_HOME])
  :: held[Y_HOME] == ABSENT && lists -> step = READ_WAY; home_version = version[Y_HOME]
  :: else -> End(Y, ABSENT_BY(version[Y_HOME]))
  fi
}

inline OnConfirm() {
  if
  :: version[Y_HOME] == home_version -> End(Y, ABSENT_BY_BOTH(home_version, way_version))
  :: else -> way_version = 0; OnYHome()
  fi
}

/* Every turn of the loop is one READ, but for the first two. */
active proctype Reader() {
  byte from;          /* nothing older may be returned */
  byte last, found;   /* 0 but within a step */
  bool second;        /* of two GETs */
  byte seen[2] = NOTHING;
  bool done[2];       /* in this round */
  bool stands = true; /* what is done is as in the round before */
  byte step;          /* of the search for Y */
  byte home_version, way_version;

  do
  :: doing == IDLE -> doing = GETS
  :: doing == IDLE -> doing = SNAPSHOT
  :: atomic { WANTS_X && !torn[X_HOME] -> OnXHome() }
  :: atomic { WANTS_Y && !torn[Y_HOME] -> OnYHome() }
  :: atomic { step == READ_WAY && !torn[Y_WAY] ->
      if :: held[Y_WAY] != ABSENT -> End(Y, held[Y_WAY]) :: else -> step = CONFIRM; way_version = version[Y_WAY] fi
    }
  :: atomic { step == CONFIRM && !torn[Y_HOME] -> step = READ_HOME; OnConfirm() }
  /* R4: a bucket, or a record. What is no longer so is forgotten, and the GET goes home. */
  :: atomic { WANTS_Y && !torn[Y_WAY] && held[Y_WAY] != ABSENT -> OnFirst(); End(Y, held[Y_WAY]) }
  :: atomic { WANTS_X && live[X] -> OnFirst(); End(X, held[X_HOME]) }
  :: atomic { WANTS_Y && live[Y] && held[Y_HOME] != ABSENT -> OnFirst(); End(Y, held[Y_HOME]) }
  :: atomic { WANTS_Y && live[Y] && held[Y_WAY] != ABSENT -> OnFirst(); End(Y, held[Y_WAY]) }
#ifdef LIVE_AFTER_REWRITE
  :: atomic { WANTS_X && former[X] != ABSENT -> OnFirst(); End(X, former[X]) }
  :: atomic { WANTS_Y && former[Y] != ABSENT -> OnFirst(); End(Y, former[Y]) }
#endif
  od
}
