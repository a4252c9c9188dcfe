/* Growth: a table that grows, again and again, under writes and GETs of key A.
 *
 * Rules: R5, the invariants of cuckoo/growing_table.h, the two superblocks of a growth, and when a
 * table's memory is given back (server/growth.h, client/engine_view.cc). Properties: history.pml's;
 * and an honest server never makes a client wait in vain or read what is no table:
 *   - the superblock that is READ because of `retired` or of `forward` is a newer one;
 *   - no table is READ whose memory was given back.
 *
 * Scope. Memory for three tables, used in turn, so that the next growth begins while clients still
 * go by the one before the last. In each table A has its home and one way; the home lists A, or
 * another key of its fingerprint, or none. The writer puts, deletes and displaces A, visits the
 * buckets of the old table in any order and again, and grows for ever. A client has a superblock of
 * any age that is not confirmed to be newer, and a remembered bucket that may be any of A's in any
 * of its tables.
 *
 * Abstraction. As in basic.pml: a bucket READ and every rewrite are atomic, a version is the bit
 * `changed`. A superblock is READ as one: it is sealed. What a client has confirmed is taken to be
 * known to the server at once, which is the earliest that it can be. A client takes a new
 * superblock at any time between two READs, because a GET of another key met it, and begins its GET
 * anew.
 *
 * Not modelled: records (known.pml: remembered ones do not depend on tables), more keys
 * (basic.pml), buckets that cannot move because they are damaged or the next table is full, clients
 * that are disconnected because they do not confirm, preparation of the next table's memory,
 * crashes.
 *
 * That buckets of an old table turn `retired` is needed for progress only, as long as `forward`
 * stays set in them: it makes clients confirm, so that memory can be given back.
 *
 *   switch ERASED_FIRST         a key is cleared in the old table before it is in the new one
 *   switch FORWARD_LATE         `forward` is set after the key has moved
 *   switch FORWARD_NOT_AT_HOME  it is set where a displaced key was, and not in its home
 *   switch NEW_WITHOUT_FORWARD  a new key goes to the new table, but its old home does not say so
 *   switch COPIES_DIFFER        the new copy is overwritten while the old one is there
 *   switch MOVED_BACK           a key moves from the new table to the old
 *   switch SWITCHED_EARLY       the new table is made the only one while the old one holds keys
 *   switch SUPERBLOCK_LATE      `forward` is set before the superblock lists the new table
 *   switch RETIRED_EARLY        buckets are retired while the superblock lists the old table
 *   switch GIVEN_EARLY          the old table's memory is given back, whatever clients confirmed
 *   switch FORWARD_IGNORED      R5: a miss in the old table is a miss
 *   switch NEW_FIRST            R5: the new table is looked at before the old one
 *   switch RETIRED_IGNORED      R5: a retired bucket is taken for one that holds and says nothing
 *   switch NOT_BEGUN_ANEW       R5: a GET goes on by the old superblock when there is a new one
 *   switch KNOWN_OF_ANY_TABLE   R4: a remembered bucket is READ although its table is not listed
 */
#define TABLES 3
#define BUCKET(table, way) (2 * (table) + (way))
#define COPIES 6
#include "history.pml"

#define AFTER(table) ((table) == 2 -> 0 : (table) + 1)

bool has[COPIES];     /* the bucket holds A */
bool retired[COPIES];
bool listed[TABLES];  /* in the home of A: A is displaced ... */
bool alike[TABLES];   /* ... or another key that looks like it */
bool forward[TABLES]; /* in the home of A */
bool given[TABLES];   /* the table's memory is not a table */

byte first;           /* the superblock: the table, ... */
bool second;          /* ... and whether the one after it is listed too */
byte view_first;      /* the client's */
bool view_second;

byte reading;         /* the table that the GET is at */
bool changed;         /* its home was rewritten since the first READ of it */

#define Rewritten(table, way) changed = changed || ((table) == reading && (way) == 0)
#define VIEW_LISTS(table) \
  ((table) == view_first || (view_second && (table) == AFTER(view_first)))

/* ---- the writer ---- */

#define STEADY 0
#define MOVING 1   /* from `old` to `new` */
#define RETIRING 2 /* `old` is history */

byte phase;
byte old, new; /* the same table when steady */

#define HOLDS(table) (has[BUCKET(table, 0)] || has[BUCKET(table, 1)])
#define WAY_IN(table) (has[BUCKET(table, 0)] -> 0 : 1)
#define RETIRED(table) (retired[BUCKET(table, 0)] && retired[BUCKET(table, 1)])
#define EMPTIED (forward[old] && !alike[old] && !HOLDS(old))

inline SetForward() {
  if :: !forward[old] -> d_step { forward[old] = true; Rewritten(old, 0) } :: else fi
}

/* W4. A write takes effect here, a move does not. */
inline Insert(t, w, label) {
  if :: w == 1 -> d_step { listed[t] = true; Rewritten(t, 0) } :: else fi;
  d_step {
    has[BUCKET(t, w)] = true; tag[BUCKET(t, w)] = label; Rewritten(t, w);
    if :: !moves -> Effect() :: else fi
  }
}

inline Erase(t, w) {
  d_step {
    has[BUCKET(t, w)] = false; tag[BUCKET(t, w)] = OLD; Rewritten(t, w);
    if :: !moves -> Effect() :: else fi
  };
  if :: w == 1 -> d_step { listed[t] = false; Rewritten(t, 0) } :: else fi
}

inline PutNew() {
  d_step { BeginPut() };
#ifndef NEW_WITHOUT_FORWARD
  if :: phase == MOVING -> SetForward() :: else fi;
#endif
  Insert(new, way, stored);
  d_step { Acknowledge() }
}

inline Overwrite(t, w) {
  d_step { BeginPut() };
  d_step { tag[BUCKET(t, w)] = stored; Rewritten(t, w); Effect() };
  d_step { Acknowledge() }
}

inline Delete() {
  d_step { BeginDelete() };
  Erase(table, way);
  d_step { Acknowledge() }
}

/* W5, within a table of two ways: the home is the old or the new bucket. */
inline Displace() {
  d_step {
    has[BUCKET(new, 1 - way)] = true; tag[BUCKET(new, 1 - way)] = tag[BUCKET(new, way)];
    if :: way == 1 -> listed[new] = false :: else fi;
    Rewritten(new, 1 - way)
  };
  d_step {
    has[BUCKET(new, way)] = false; tag[BUCKET(new, way)] = OLD;
    if :: way == 0 -> listed[new] = true :: else fi;
    Rewritten(new, way)
  }
}

/* R5: from the old table to the new. */
inline Travel() {
  d_step { moves = true; copied = tag[BUCKET(old, way)] };
#if defined(ERASED_FIRST)
  SetForward(); Erase(old, way); Insert(new, to, copied);
#elif defined(FORWARD_LATE)
  Insert(new, to, copied); Erase(old, way); SetForward();
#elif defined(FORWARD_NOT_AT_HOME)
  if :: way == 0 -> SetForward() :: else fi;
  Insert(new, to, copied); Erase(old, way);
#elif defined(COPIES_DIFFER)
  SetForward(); Insert(new, to, copied); Overwrite(new, to); Erase(old, way);
#else
  SetForward(); Insert(new, to, copied); Erase(old, way);
#endif
}

/* Tables whose every bucket is empty are made in memory that nobody may READ. */
inline Grow() {
  given[AFTER(old)] = false;
#ifndef SUPERBLOCK_LATE
  second = true;
#endif
  d_step { new = AFTER(old); phase = MOVING }
}

inline Switch() {
  d_step { first = new; second = false };
  phase = RETIRING
}

inline Give(t) {
  d_step {
    given[t] = true; retired[BUCKET(t, 0)] = false; retired[BUCKET(t, 1)] = false;
    has[BUCKET(t, 0)] = false; has[BUCKET(t, 1)] = false;
    listed[t] = false; alike[t] = false; forward[t] = false
  }
}

#ifdef GIVEN_EARLY
#define MAY_GIVE(t) (!given[t] && RETIRED(t) && (t) != old)
#else
#define MAY_GIVE(t) (!given[t] && RETIRED(t) && (t) != old && !VIEW_LISTS(t))
#endif

#ifdef SWITCHED_EARLY
#define MAY_SWITCH forward[old]
#else
#define MAY_SWITCH EMPTIED
#endif

active proctype Writer() {
  byte table, way; /* where A is */
  byte to, copied; /* where it moves in the other table, and its tag */
  bool moves;      /* it only moves */

  d_step { given[1] = true; given[2] = true };
  do
  :: atomic { !HOLDS(new) && !(phase == MOVING && HOLDS(old)) -> if :: way = 0 :: way = 1 fi };
    PutNew();
    way = 0
  :: atomic {
      if
      :: phase == MOVING && HOLDS(old) -> table = old
      :: HOLDS(new) && !(phase == MOVING && HOLDS(old)) -> table = new
      fi;
      way = WAY_IN(table)
    };
    if
    :: Overwrite(table, way)
    :: Delete()
    :: table == new -> Displace()
    :: table != new -> if :: to = 0 :: to = 1 fi; Travel()
#ifdef MOVED_BACK
    :: table == new && phase == MOVING ->
      d_step { moves = true; copied = tag[BUCKET(new, way)] };
      Insert(old, to, copied); Erase(new, way)
#endif
    fi;
    d_step { table = 0; way = 0; to = 0; copied = 0; moves = false }
  :: d_step { alike[new] = !alike[new]; Rewritten(new, 0) }
  :: d_step { phase == MOVING && alike[old] -> alike[old] = false; Rewritten(old, 0) }
  :: phase == MOVING && !forward[old] -> SetForward()
  :: phase == STEADY && given[AFTER(old)] -> Grow()
  :: phase == MOVING && MAY_SWITCH -> Switch()
  :: d_step { phase == RETIRING && !retired[BUCKET(old, 0)] ->
      retired[BUCKET(old, 0)] = true; Rewritten(old, 0)
    }
  :: d_step { phase == RETIRING && !retired[BUCKET(old, 1)] -> retired[BUCKET(old, 1)] = true }
  :: d_step { phase == RETIRING && RETIRED(old) -> phase = STEADY; old = new }
  :: MAY_GIVE(0) -> Give(0)
  :: MAY_GIVE(1) -> Give(1)
  :: MAY_GIVE(2) -> Give(2)
#ifdef SUPERBLOCK_LATE
  :: d_step { phase == MOVING && !second -> second = true }
#endif
#ifdef RETIRED_EARLY
  :: d_step { phase == MOVING && EMPTIED -> retired[BUCKET(old, 0)] = true; Rewritten(old, 0) }
#endif
  od
}

/* ---- the reader: GETs of A, one after another, for ever ---- */

/* The READ that comes next. */
#define READ_HOME 0
#define READ_WAY 1
#define CONFIRM 2
#define READ_SUPERBLOCK 3

#ifdef RETIRED_IGNORED
#define IS_RETIRED(bucket) false
#define IGNORES(bucket) retired[bucket]
#else
#define IS_RETIRED(bucket) retired[bucket]
#define IGNORES(bucket) false
#endif

inline Reset() {
  d_step {
    step = READ_HOME; look = false; forwarded = false; in_second = false; reading = view_first
  }
}

inline Hit(bucket) { d_step { EndHit(tag[bucket]) }; Reset() }
inline Miss() { d_step { EndMiss() }; Reset() }
inline BeginAnew() { d_step { Anew() }; Reset() }
inline TakeView() {
  d_step { went_on = went_on || view_first != first; view_first = first; view_second = second }
}

/* A is not in the table that the GET is at. */
inline OnMissed() {
  if
#ifdef FORWARD_IGNORED
  :: true -> Miss()
#elif defined(NEW_FIRST)
  :: !in_second -> Miss()
  :: in_second -> in_second = false; reading = view_first; step = READ_HOME
#else
  :: !forwarded -> Miss()
  :: forwarded && !in_second && view_second ->
    in_second = true; reading = AFTER(view_first); step = READ_HOME
  :: forwarded && (in_second || !view_second) -> step = READ_SUPERBLOCK
#endif
  fi
}

inline OnHome() {
  assert(!given[reading]);
  getting = true; changed = false;
  look = listed[reading] || alike[reading];
  forwarded = forward[reading] && !IGNORES(BUCKET(reading, 0));
  if
  :: IS_RETIRED(BUCKET(reading, 0)) -> step = READ_SUPERBLOCK
  :: !IS_RETIRED(BUCKET(reading, 0)) && has[BUCKET(reading, 0)] -> Hit(BUCKET(reading, 0))
  :: else -> if :: look -> step = READ_WAY :: else -> OnMissed() fi
  fi
}

inline OnWay() {
  assert(!given[reading]);
  if
  :: IS_RETIRED(BUCKET(reading, 1)) -> step = READ_SUPERBLOCK
  :: !IS_RETIRED(BUCKET(reading, 1)) && has[BUCKET(reading, 1)] -> Hit(BUCKET(reading, 1))
  :: else -> step = CONFIRM
  fi
}

inline OnConfirm() {
  assert(!given[reading]);
  if
  :: changed -> OnHome()
  :: else -> OnMissed()
  fi
}

inline OnSuperblock() {
#ifndef NOT_BEGUN_ANEW
  assert(view_first != first || view_second != second);
#endif
  TakeView();
  BeginAnew()
}

/* R4: a hit, a sign that the superblock is old, or nothing. */
inline Remembered(t) {
  assert(!given[t]);
  if
  :: IS_RETIRED(BUCKET(t, 0)) -> getting = true; step = READ_SUPERBLOCK
  :: IS_RETIRED(BUCKET(t, 1)) -> getting = true; step = READ_SUPERBLOCK
  :: !IS_RETIRED(BUCKET(t, 0)) && has[BUCKET(t, 0)] -> Hit(BUCKET(t, 0))
  :: !IS_RETIRED(BUCKET(t, 1)) && has[BUCKET(t, 1)] -> Hit(BUCKET(t, 1))
  :: else
  fi
}

/* Every turn of the loop is one READ, or the client's taking of a superblock for another GET. */
active proctype Reader() {
  byte step;
  bool look;      /* the way is listed */
  bool forwarded; /* what the home said that was READ first */
  bool in_second; /* the GET is at the second table */
  bool went_on;   /* the client has gone by an older table than the first */

  do
#ifdef NEW_FIRST
  :: atomic { !getting && view_second -> in_second = true; reading = AFTER(view_first); OnHome() }
#endif
  :: atomic { step == READ_HOME -> OnHome() }
  :: atomic { step == READ_WAY -> OnWay() }
  :: atomic { step == CONFIRM -> OnConfirm() }
  :: atomic { step == READ_SUPERBLOCK -> OnSuperblock() }
#ifdef NOT_BEGUN_ANEW
  :: step != READ_SUPERBLOCK -> TakeView()
#else
  :: atomic { view_first != first || view_second != second -> TakeView(); BeginAnew() }
#endif
  :: atomic { !getting -> Remembered(view_first) }
  :: atomic { !getting && view_second -> Remembered(AFTER(view_first)) }
#ifdef KNOWN_OF_ANY_TABLE
  :: atomic { !getting && went_on -> Remembered(AFTER(AFTER(view_first))) }
#endif
  od
}
