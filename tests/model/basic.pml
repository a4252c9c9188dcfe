/* The table: insert, overwrite, delete, displacement, overflow; GETs of key A.
 *
 * Rules: W2, W4, W5, W6, R1 and R2 and R3, R4 for a remembered bucket. The property is
 * history.pml's.
 *
 * Scope. Four buckets. A and two more keys are homed at bucket 0, its directory has one entry and
 * `overflow`; B has A's fingerprint or not, and two of the other three buckets as its ways, in any
 * order; C has A's, and B's two ways in the other order. Of keys homed elsewhere only that they
 * occupy buckets matters here: they come and go in any free bucket. The writer puts a key in any of
 * its free ways and moves any item to any free way at any time, so every displacement path of
 * cuckoo/path.h is among its moves, and it does so for ever. All items are inline; records are
 * known.pml's.
 *
 * Abstraction. Every rewrite of a bucket is a step of its own, and a READ is atomic: plov(7), Lemma
 * 1, shows that whole bytes are the bucket at one instant. A torn READ is left out: it is READ
 * again, which is as if it had not been posted. Versions are compared with one another only at
 * home, so "another version than at the first READ" is the bit `changed`, which every rewrite of
 * the home sets (A6: versions do not come again). READs that are in flight together may be served
 * in any order; one that is posted after the completion of another is served after it. A remembered
 * bucket may be any of A's ways: more than any client can have learnt.
 *
 * Not modelled: budgets and the GET by message (R6), expiry (R7), 7-bit fingerprints that are more
 * than "equal or not", crashes, damaged buckets, a full table.
 *
 * Each switch breaks one rule, and then there is a GET that its caller can see to be wrong:
 *
 *   switch INSERT_ORDER         W4: the bucket is written before the home lists it
 *   switch DELETE_ORDER         W4: the home strikes the entry before the bucket is cleared
 *   switch CLEAR_BEFORE_COPY    W5: a move clears the old bucket first
 *   switch CLEAR_BEFORE_HOME    W5: a move clears the old bucket before the home names the new one
 *   switch HOME_BEFORE_COPY     W5: the home names the new bucket before that is written
 *   switch HOME_NOT_REWRITTEN   W5: the home goes on naming the old bucket
 *   switch SAME_BITS_SKIPPED    W5: the home is rewritten only when its bits change
 *   switch VERSION_NOT_BUMPED   W2: a rewrite leaves the version as it was
 *   switch OVERFLOW_LOST        `overflow` goes with the first of two unlisted keys
 *   switch ACKNOWLEDGED_EARLY   W6: the acknowledgement comes before the bucket is written
 *   switch KEY_NOT_COMPARED     R1: whatever a listed bucket holds is taken for A
 *   switch OVERFLOW_IGNORED     R2: only the entry is looked at
 *   switch NOT_CONFIRMED        R3: a miss in the listed ways is not confirmed
 *   switch CONFIRMED_EARLY      R3: the confirmation is in flight together with the last way
 *   switch WAYS_WITH_HOME       R2: the ways are READ together with the home
 *   switch TORN_AS_ABSENT       a torn bucket is taken for an empty one
 *   switch ABSENCE_REMEMBERED   R4: absence is remembered as well
 */
#define BUCKETS 4
#define COPIES BUCKETS
#include "history.pml"

#define NONE 0
#define A 1
#define B 2
#define C 3
#define OTHER 4 /* a key that is homed elsewhere */

#define HOME 0
#define NOWHERE 3 /* as a way */

byte held[BUCKETS]; /* the key in each bucket */
byte entry_way;     /* the home's entry: its way, 0 when free, ... */
bool entry_alike;   /* ... and whether its fingerprint is A's */
bool overflow;
byte unlisted;      /* the writer's count of displaced keys without an entry */
bool changed;       /* the home was rewritten since the reader's first READ of it */

/* The layout, chosen once: bucket of B in way 1 and 2; C's are these swapped. */
byte way_1, way_2;
bool alike;         /* B's fingerprint is A's */

#define BUCKET_OF(key, way) \
  ((way) == 0 -> HOME : ((key) == A -> (way) : (((key) == B) == ((way) == 1) -> way_1 : way_2)))
#define ALIKE(key) ((key) != B || alike)

#ifdef VERSION_NOT_BUMPED
#define Rewritten(bucket) skip
#else
#define Rewritten(bucket) changed = changed || (bucket) == HOME
#endif

#ifdef TORN_AS_ABSENT
byte torn; /* the bucket that is half written, and one more */
#define Tear(bucket) torn = (bucket) + 1
#define Whole() torn = 0
#else
#define Tear(bucket) skip
#define Whole() skip
#endif

/* ---- the writer ---- */

inline List(k, w) {
  if
  :: entry_way == 0 -> entry_way = w; entry_alike = ALIKE(k)
  :: else -> unlisted++; overflow = true
  fi
}

inline Unlist(k, w) {
  if
  :: entry_way == w && entry_alike == ALIKE(k) -> entry_way = 0; entry_alike = false
  :: else ->
    unlisted--;
#ifdef OVERFLOW_LOST
    overflow = false
#else
    overflow = unlisted > 0
#endif
  fi
}

inline Clear(b) { held[b] = NONE; tag[b] = OLD; Rewritten(b) }

inline StoreListed() {
  if
  :: at > 0 -> Tear(HOME); d_step { List(key, at); Rewritten(HOME); Whole() }
  :: else
  fi
}

inline StoreUnlisted() {
  if
  :: at > 0 -> Tear(HOME); d_step { Unlist(key, at); Rewritten(HOME); Whole() }
  :: else
  fi
}

/* An insert at a free way, or an overwrite. */
inline StoreItem() {
  Tear(from);
  d_step {
    held[from] = key;
    if :: key == A -> tag[from] = stored; Effect() :: else fi;
    Rewritten(from);
    Whole()
  }
}

inline StoreCleared() {
  Tear(from);
  d_step { Clear(from); if :: key == A -> Effect() :: else fi; Whole() }
}

inline Acknowledged() { d_step { if :: key == A -> Acknowledge() :: else fi } }

inline Put() {
  d_step { if :: key == A -> BeginPut() :: else fi };
#ifdef ACKNOWLEDGED_EARLY
  Acknowledged();
#endif
  if
  :: held[from] == key -> StoreItem()
  :: else ->
#ifdef INSERT_ORDER
    StoreItem(); StoreListed()
#else
    StoreListed(); StoreItem()
#endif
  fi;
#ifndef ACKNOWLEDGED_EARLY
  Acknowledged()
#endif
}

inline Delete() {
  d_step { if :: key == A -> BeginDelete() :: else fi };
#ifdef DELETE_ORDER
  StoreUnlisted(); StoreCleared();
#else
  StoreCleared(); StoreUnlisted();
#endif
  Acknowledged()
}

/* The three stores of a move. Where the home is the old or the new bucket, its two are one. */
inline StoreCopy() {
  Tear(into);
  d_step {
    held[into] = key;
    tag[into] = copied;
    if :: to == 0 -> Unlist(key, at) :: else fi;
    Rewritten(into);
    Whole()
  }
}

inline StoreHome() {
  if
#ifdef HOME_NOT_REWRITTEN
  :: true
#endif
#ifdef SAME_BITS_SKIPPED
  :: at > 0 && to > 0 && entry_way > 0 && entry_way != at
#endif
  :: at > 0 && to > 0 ->
    Tear(HOME);
    d_step { Unlist(key, at); List(key, to); Rewritten(HOME); Whole() }
  :: else
  fi
}

inline StoreSource() {
  Tear(from);
  d_step {
    Clear(from);
    if :: at == 0 -> List(key, to) :: else fi;
    Whole()
  }
}

inline Move() {
  d_step { copied = tag[from] };
#if defined(CLEAR_BEFORE_COPY)
  StoreSource(); StoreCopy(); StoreHome();
#elif defined(CLEAR_BEFORE_HOME)
  StoreCopy(); StoreSource(); StoreHome();
#elif defined(HOME_BEFORE_COPY)
  StoreHome(); StoreCopy(); StoreSource();
#else
  StoreCopy(); StoreHome(); StoreSource();
#endif
}

#define FREE(key, way) (held[BUCKET_OF(key, way)] == NONE)
#define HOLDS(key, way) (held[BUCKET_OF(key, way)] == key)

active proctype Writer() {
  byte key;        /* of the operation, ... */
  byte at, from;   /* ... its way and bucket, ... */
  byte to, into;   /* ... where it moves ... */
  byte copied;     /* ... and its tag */

  atomic {
    if
    :: way_1 = 1; way_2 = 2 :: way_1 = 2; way_2 = 1 :: way_1 = 1; way_2 = 3
    :: way_1 = 3; way_2 = 1 :: way_1 = 2; way_2 = 3 :: way_1 = 3; way_2 = 2
    fi;
    if :: alike = true :: alike = false fi
  }
  do
  :: atomic {
      if :: key = A :: key = B :: key = C fi;
      if
      :: HOLDS(key, 0) -> at = 0 :: HOLDS(key, 1) -> at = 1 :: HOLDS(key, 2) -> at = 2
      :: else -> at = NOWHERE
      fi;
      if
      :: at == NOWHERE ->
        if
        :: FREE(key, 0) -> at = 0 :: FREE(key, 1) -> at = 1 :: FREE(key, 2) -> at = 2
        :: else -> goto Done
        fi;
        from = BUCKET_OF(key, at); goto Puts
      :: at != NOWHERE && key == A -> from = BUCKET_OF(key, at); goto Puts
      :: at != NOWHERE -> from = BUCKET_OF(key, at); goto Deletes
      :: at != NOWHERE ->
        if
        :: FREE(key, 0) -> to = 0 :: FREE(key, 1) -> to = 1 :: FREE(key, 2) -> to = 2
        :: else -> goto Done
        fi;
        from = BUCKET_OF(key, at); into = BUCKET_OF(key, to); goto Moves
      fi
    }
  :: atomic {
      if :: at = 0 :: at = 1 :: at = 2 :: at = 3 fi;
      if
      :: held[at] == NONE -> held[at] = OTHER; Rewritten(at)
      :: held[at] == OTHER -> held[at] = NONE; Rewritten(at)
      fi;
      at = 0
    }
    goto Done;
Puts:
    Put(); goto Done;
Deletes:
    Delete(); goto Done;
Moves:
    Move();
Done:
    atomic { key = 0; at = 0; from = 0; to = 0; into = 0; copied = 0 }
  od
}

/* ---- the reader: GETs of A, one after another, for ever ---- */

#ifdef TORN_AS_ABSENT
#define SEEN(bucket) (torn == (bucket) + 1 -> NONE : held[bucket])
#define READABLE(bucket) (torn != (bucket) + 1)
#else
#define SEEN(bucket) held[bucket]
#define READABLE(bucket) true
#endif

#ifdef OVERFLOW_IGNORED
#define LISTS(way) (entry_way == (way) && entry_alike)
#else
#define LISTS(way) (READABLE(HOME) && (overflow || (entry_way == (way) && entry_alike)))
#endif

#ifdef KEY_NOT_COMPARED
#define HITS(bucket) (SEEN(bucket) != NONE)
#else
#define HITS(bucket) (SEEN(bucket) == A)
#endif

#define READ_HOME 0
#define READ_WAYS 1
#define CONFIRM 2

inline Reset() {
  d_step {
    step = READ_HOME; look_1 = false; look_2 = false;
    was_1 = false; was_2 = false; early = 0
  }
}

inline Hit(b) { d_step { EndHit(tag[b]) }; absence = false; Reset() }
inline Miss() { d_step { EndMiss() }; absence = true; Reset() }

/* The first READ of the home, which may have been a confirmation. */
inline OnHome() {
  getting = true; changed = false; early = 0;
  look_1 = LISTS(1) && !was_1; look_2 = LISTS(2) && !was_2;
  was_1 = false; was_2 = false;
  if
  :: HITS(HOME) -> Hit(HOME)
  :: !HITS(HOME) && !look_1 && !look_2 -> Miss()
  :: else -> step = READ_WAYS
  fi
}

inline OnWay() {
#ifdef NOT_CONFIRMED
  if :: !look_1 && !look_2 -> Miss() :: else fi
#else
  if :: !look_1 && !look_2 -> step = CONFIRM :: else fi
#endif
}

inline OnConfirm() {
  if
  :: early == 1 || (early == 0 && !changed && !HITS(HOME)) -> Miss()
  :: else -> d_step { Anew() }; OnHome()
  fi
}

/* Every turn of the loop is one READ. */
active proctype Reader() {
  byte step;
  bool look_1, look_2; /* the listed ways that have not been READ */
  bool was_1, was_2;   /* WAYS_WITH_HOME: the ways that have */
  byte early;          /* CONFIRMED_EARLY: 1 unchanged, 2 changed, 0 not READ yet */
  bool absence;        /* ABSENCE_REMEMBERED: the last GET was a miss */

  do
  :: atomic { step == READ_HOME -> OnHome() }
  :: atomic { look_1 -> look_1 = false; if :: HITS(1) -> Hit(1) :: else -> OnWay() fi }
  :: atomic { look_2 -> look_2 = false; if :: HITS(2) -> Hit(2) :: else -> OnWay() fi }
  :: atomic { step == CONFIRM -> OnConfirm() }
  /* R4. One that does not hold A is forgotten, and the GET goes home: as if it began only then. */
  :: atomic { !getting && HITS(1) -> Hit(1) }
  :: atomic { !getting && HITS(2) -> Hit(2) }
#ifdef ABSENCE_REMEMBERED
  :: atomic { !getting && absence -> Miss() }
#endif
#ifdef WAYS_WITH_HOME
  :: atomic { step == READ_HOME && !HITS(1) && !was_1 -> getting = true; was_1 = true }
  :: atomic { step == READ_HOME && !HITS(2) && !was_2 -> getting = true; was_2 = true }
#endif
#ifdef CONFIRMED_EARLY
  :: atomic { step == READ_WAYS && look_1 != look_2 && early == 0 -> early = (changed -> 2 : 1) }
#endif
  od
}
