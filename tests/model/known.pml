/* Records: values outside the table, their memory used again at once, remembered records.
 *
 * Rules: W1, W3, cleaning (server/store_space.cc), R1 by way of a record, R4 for a remembered
 * record. The property is history.pml's.
 *
 * Scope. Key A, whose value is inline or in a record, and key B, whose value is in a record and
 * whose 64-bit hash is A's: so B's bucket may be taken for A's until keys are compared, and a
 * client remembers one record for both. There are three places for records. A place is free as soon
 * as no bucket refers to it, and the next record may be written there at once. Cleaning moves any
 * record to any free place, also back to where it was. The writer does all this for ever.
 *
 * Abstraction. Where the table keeps a key is basic.pml's matter. Here each key has one bucket, and
 * one READ of it, or of the other's, stands for the search: basic.pml shows that the search finds
 * what was so at an instant. A record is written in three steps: its value; its head with version,
 * key and `live`; its seal. It is whole when all three are of one writing. A READ of whole bytes is
 * atomic: they are all of that writing, whenever in the READ each word was loaded. Only `live` is
 * not under the seal, so it is READ apart from the rest, before or after. A torn bucket is READ
 * again, which is as if it had not been READ. Versions of records are unique: a new one is any
 * number that is found nowhere, neither in memory nor at the reader. `live` is a bit: it is 0 or
 * the version next to it. What is remembered is any record that a bucket referred to at any earlier
 * time, A's or B's.
 *
 * Not modelled: records that overlap the place of another (A8), the records kept for a GET by
 * message, rendezvous, expiry, crashes.
 *
 * That a record is whole before a bucket refers to it (W1) is needed for progress only: a reader
 * that comes too early finds another version, or torn bytes, and goes home.
 *
 *   switch LIVE_AFTER_REWRITE     W3: `live` is cleared after the bucket was rewritten
 *   switch LIVE_KEPT_BY_PUT       W3: an overwrite does not clear `live`
 *   switch LIVE_KEPT_BY_DELETE    W3: a delete does not clear `live`
 *   switch LIVE_KEPT_BY_CLEANING  a record that was moved is live at its old place as well
 *   switch VERSIONS_REPEAT        A6: all records have the same version
 *   switch CHECKSUM_IGNORED       R1: a torn record is taken if its head has the right version
 *   switch VERSION_IGNORED        R1: the record's version is not compared with the reference's
 *   switch KEY_NOT_COMPARED       R1: the hash is taken for the key
 *   switch LIVE_IGNORED           R4: `live` of a remembered record is not looked at
 *   switch KNOWN_VERSION_IGNORED  R4: its version is not compared with the remembered one
 *   switch KNOWN_KEY_NOT_COMPARED R4: a remembered record is taken for A's
 *   switch DEAD_AS_ABSENT         R4: a remembered record that is dead is taken for a miss
 */
#define PLACES 3
#define IN_BUCKET 0
#define IN_RECORD(place) (place) /* from 1 */
#define IN_HAND 4                /* what the reader has READ */
#define COPIES 5
#include "history.pml"

#define A 1
#define B 2

#define NOTHING 0 /* what a bucket holds: nothing, a reference to a place, or the item itself */
#define INLINE 4
#define IS_REFERENCE(what) ((what) != NOTHING && (what) != INLINE)

#define VERSIONS 6

byte holds[3]; /* the bucket of A and that of B */

byte r_key[PLACES + 1]; /* records, from 1 */
byte r_version[PLACES + 1]; /* 1..VERSIONS; also the version in the reference */
bool live[PLACES + 1];
bool whole[PLACES + 1];
byte into; /* the place that is being written */

byte known_place, known_version;       /* remembered; 0 = nothing */
byte expected_place, expected_version; /* the record that a bucket has just meant */

#define REFERRED(place) (holds[A] == (place) || holds[B] == (place))
#define IN_USE(v) ((v) == r_version[1] || (v) == r_version[2] || (v) == r_version[3] || \
  (v) == known_version || (v) == expected_version)

/* Makes states that differ only in what nobody can see one: forgets what lies in a free place that
 * the reader has no way to, and numbers the versions in the order in which they are found. */
byte number[VERSIONS + 1], last; /* 0 but within a step */

inline Renumber(v) {
  if
  :: v != 0 && number[v] == 0 -> last++; number[v] = last; v = last
  :: v != 0 && number[v] != 0 -> v = number[v]
  :: else
  fi
}

inline Forgotten(p) {
  if
  :: !REFERRED(p) && p != into && p != known_place && p != expected_place ->
    r_key[p] = 0; r_version[p] = 0; live[p] = false; whole[p] = false; tag[IN_RECORD(p)] = OLD
  :: else
  fi
}

inline Tidy() {
  Forgotten(1); Forgotten(2); Forgotten(3);
  Renumber(r_version[1]); Renumber(r_version[2]); Renumber(r_version[3]);
  Renumber(known_version); Renumber(expected_version);
  last = 0;
  number[1] = 0; number[2] = 0; number[3] = 0; number[4] = 0; number[5] = 0; number[6] = 0
}

/* ---- the writer ---- */

inline DrawVersion() {
  r_version[into] = 0;
  tally = 1;
#ifndef VERSIONS_REPEAT
  do :: IN_USE(tally) -> tally++ :: else -> break od;
  assert(tally <= VERSIONS);
#endif
  r_version[into] = tally;
  tally = 0
}

/* W1: value, head, seal. */
inline StoreRecord() {
  d_step {
    whole[into] = false;
    tag[IN_RECORD(into)] = (key == A -> stored : OLD)
  };
  d_step { DrawVersion(); r_key[into] = key; live[into] = true; Tidy() };
  whole[into] = true
}

inline Retract() {
  if :: IS_REFERENCE(old) -> live[old] = false :: else fi
}

/* Gives the bucket what it is to hold. */
inline Rewrite(what) {
  d_step {
    holds[key] = what;
    if :: key == A -> tag[IN_BUCKET] = ((what) == INLINE -> stored : OLD); Effect() :: else fi
  }
}

inline Put() {
  d_step { old = holds[key]; if :: key == A -> BeginPut() :: else fi };
  if :: into != INLINE -> StoreRecord() :: else fi;
#if defined(LIVE_AFTER_REWRITE)
  Rewrite(into); Retract();
#elif defined(LIVE_KEPT_BY_PUT)
  Rewrite(into);
#else
  Retract(); Rewrite(into);
#endif
  d_step { if :: key == A -> Acknowledge() :: else fi }
}

inline Delete() {
  d_step { old = holds[key]; if :: key == A -> BeginDelete() :: else fi };
#ifndef LIVE_KEPT_BY_DELETE
  Retract();
#endif
  Rewrite(NOTHING);
  d_step { if :: key == A -> Acknowledge() :: else fi }
}

/* Cleaning. A place where the same record was before stays whole while it is copied there again. */
inline Relocate() {
  d_step {
    old = holds[key];
    whole[into] = whole[into] && r_version[into] == r_version[old];
    tag[IN_RECORD(into)] = tag[IN_RECORD(old)]
  };
  d_step { r_key[into] = key; r_version[into] = r_version[old]; live[into] = true; Tidy() };
  whole[into] = true;
#ifndef LIVE_KEPT_BY_CLEANING
  Retract();
#endif
  holds[key] = into
}

active proctype Writer() {
  byte key; /* of the operation */
  byte old; /* what its bucket held */

  do
  :: atomic {
      if :: key = A :: key = B fi;
      if
      :: !REFERRED(1) -> into = 1 :: !REFERRED(2) -> into = 2 :: !REFERRED(3) -> into = 3
      :: key == A -> into = INLINE
      fi
    };
    if :: Put() :: IS_REFERENCE(holds[key]) && into != INLINE -> Relocate() fi;
    d_step { key = 0; into = 0; old = 0; Tidy() }
  :: if :: holds[A] != NOTHING -> key = A :: holds[B] != NOTHING -> key = B fi;
    Delete();
    d_step { key = 0; old = 0; Tidy() }
  od
}

/* ---- the reader: GETs of A, one after another, for ever ---- */

#ifdef KEY_NOT_COMPARED
#define IS_A(place) true
#else
#define IS_A(place) (r_key[place] == A)
#endif

#ifdef KNOWN_KEY_NOT_COMPARED
#define IS_KNOWN_A(place) true
#else
#define IS_KNOWN_A(place) (r_key[place] == A)
#endif

#ifdef CHECKSUM_IGNORED
#define WHOLE(place) true
#else
#define WHOLE(place) whole[place]
#endif

#ifdef VERSION_IGNORED
#define IS_MEANT(place) true
#else
#define IS_MEANT(place) (r_version[place] == expected_version)
#endif

#ifdef KNOWN_VERSION_IGNORED
#define IS_KNOWN(place) true
#else
#define IS_KNOWN(place) (r_version[place] == known_version)
#endif

#ifdef LIVE_IGNORED
#define IS_LIVE(place) true
#else
#define IS_LIVE(place) (live[place] && IS_KNOWN(place))
#endif

/* The READ that comes next. */
#define READ_BUCKET 0
#define READ_RECORD 1
#define READ_KNOWN 2

inline Reset() {
  d_step {
    step = READ_BUCKET; expected_place = 0; expected_version = 0;
    seen_live = false; seen_rest = false; tag[IN_HAND] = OLD;
    Tidy()
  }
}

inline Hit(copy) { d_step { EndHit(tag[copy]) }; Reset() }
inline Miss() { d_step { EndMiss() }; Reset() }
/* Nothing is kept: the GET goes home. */
inline BeginAnew() { d_step { Anew() }; Reset() }

inline OnReference(what) {
  getting = true; step = READ_RECORD;
  expected_place = what; expected_version = r_version[what];
  d_step { Tidy() }
}

/* A's own bucket. */
inline OnBucket() {
  if
  :: holds[A] == NOTHING -> Miss()
  :: holds[A] == INLINE -> Hit(IN_BUCKET)
  :: else -> OnReference(holds[A])
  fi
}

/* What is not A's, nor torn, sends the search on; that begins it anew is no less. */
inline OnRecord() {
  if
  :: WHOLE(expected_place) && IS_MEANT(expected_place) && IS_A(expected_place) ->
    Hit(IN_RECORD(expected_place))
  :: else -> BeginAnew()
  fi
}

inline Forget() { known_place = 0; known_version = 0; BeginAnew() }
inline HitWhenBoth() { if :: seen_live && seen_rest -> Hit(IN_HAND) :: else fi }

inline OnLive() {
  getting = true; step = READ_KNOWN;
  if
  :: IS_LIVE(known_place) -> seen_live = true; HitWhenBoth()
#ifdef DEAD_AS_ABSENT
  :: !IS_LIVE(known_place) -> known_place = 0; known_version = 0; Miss()
#endif
  :: else -> Forget()
  fi
}

inline OnRest() {
  getting = true; step = READ_KNOWN;
  if
  :: WHOLE(known_place) && IS_KNOWN(known_place) && IS_KNOWN_A(known_place) ->
    tag[IN_HAND] = tag[IN_RECORD(known_place)]; seen_rest = true; HitWhenBoth()
  :: else -> Forget()
  fi
}

inline Remember(what) { d_step { known_place = what; known_version = r_version[what]; Tidy() } }

#define KNOWN ((!getting && known_place != 0) || step == READ_KNOWN)

/* Every turn of the loop is one READ, or what an earlier GET, of A or of B, taught. */
active proctype Reader() {
  byte step;
  bool seen_live, seen_rest; /* of the remembered record */

  do
  :: atomic { step == READ_BUCKET -> OnBucket() }
  :: atomic { step == READ_BUCKET && IS_REFERENCE(holds[B]) -> OnReference(holds[B]) }
  :: atomic { step == READ_RECORD -> OnRecord() }
  :: atomic { KNOWN && !seen_live -> OnLive() }
  :: atomic { KNOWN && !seen_rest -> OnRest() }
  :: atomic { !getting && IS_REFERENCE(holds[A]) -> Remember(holds[A]) }
  :: atomic { !getting && IS_REFERENCE(holds[B]) -> Remember(holds[B]) }
  od
}
