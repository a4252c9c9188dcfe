/* The end of a log: batches and segments on a disk that keeps, of what was not synced, any part.
 *
 * Rules: D2 and D5 to D8 of plov(7); log/segment_writer.cc and log/walk.cc. Properties:
 *   - a start after a power cut finds every batch that was promised: told to be durable, or
 *     restored by a start before; what it finds is what was written under that number last;
 *   - it never takes the power cut for damage;
 *   - when one batch is damaged that a durable batch or head attests, it says so.
 *
 * Scope. A few batches; segments with room for two of them and the word that closes them; three
 * power cuts, at any instant, also while a start has not yet begun its segment; errors of writes,
 * syncs and names at any time. Each life of the server writes with O_DSYNC, or syncs after some
 * writes. At each start each attested batch is damaged, by itself and for this question alone.
 *
 * Abstraction. What a checksum decides is a bit: whole or not; a torn batch and none look alike. A
 * chain names the place of the batch before and the life that wrote it. A head is whole when its
 * file has a name: it was synced first. A power cut loses or keeps each name, batch and closing
 * word by itself; a killed process loses no more. An error while a segment is begun changes
 * nothing: it is begun anew under the same number, with the same head. After an error of a write
 * the disk has it or not, as one that was not synced.
 *
 * Not modelled: snapshots and segments that they remove (snapshot.pml), batches that span blocks or
 * differ in size, recycled files (their bytes are of another segment, so never whole), damaged
 * heads and missing files, a full disk, errors that last.
 *
 * As long as D6 holds the search finds nothing without the chain either: that is for files which
 * are not what they should be. With the chain, going on in an old segment is wrong only where a
 * later one has begun.
 *
 *   switch HEAD_EARLY          D7: the next segment's head comes before the full one is durable
 *   switch NAME_LATE           D7: batches are written before the segment's name is durable
 *   switch CLOSED_EARLY        D7: the full segment is closed before the next one's name is durable
 *   switch CLOSED_IS_NUMBERED  D7: the word that closes a segment has a batch number of its own
 *   switch ATTESTS_WRITTEN     D2: a batch attests all before it, durable or not
 *   switch NOTHING_ATTESTS     D5: in quiet no batch is written to attest the last one
 *   switch GOES_ON_IN_OLD      D6: a start goes on behind the last whole batch, in its segment
 *   switch SYNC_AGAIN          D8: a sync that failed is tried again on the same file
 */
#define BATCHES 4
#define SEGMENTS 5
#define LIVES 4
#define ROOM 3 /* places of a segment */

#define NONE SEGMENTS
#define PLACES 15
#define PLACE(segment, at) ((segment) * ROOM + (at))

/* ---- the disk ---- */

/* The states of a place, and of a name. */
#define NOTHING 0
#define UNSYNCED 1
#define DURABLE 2
#define LOST_BY_ERROR 3 /* the system takes it for synced, the disk has it or not */

byte place[PLACES];
bool closes[PLACES];  /* the word that closes, not a batch */
byte number[PLACES];  /* of the batch */
byte attest[PLACES];
byte chain[PLACES];   /* CHAIN of the batch before */
byte made_by[PLACES]; /* the life */

#define CHAIN(p) (1 + (p) + 16 * made_by[p]) /* its checksum */

byte name[SEGMENTS];
byte first[SEGMENTS]; /* batch */
byte head_chain[SEGMENTS];

/* ---- what is known outside ---- */

byte life = 1;
byte author[BATCHES + 2]; /* the life that gave the number to a batch last */
byte promised;            /* all batches up to this one are there after any power cut, ... */
byte attested;            /* ... and of these damage is noticed */

/* ---- SegmentWriter ---- */

bool durable_writes;
byte current = NONE; /* the segment that takes batches, ... */
byte at;             /* ... and where the next goes */
byte filled = NONE;  /* to be closed when the next has begun */
byte next_segment;
byte durable;        /* batch; those up to durable + in_current lie in `current`, ... */
byte in_current;
byte taken;          /* ... and up to this one wait */
byte last_chain, durable_chain;

#define WAITS (durable + in_current < taken)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* GroupCommit::GiveOpen. */
inline Take() { taken++; author[taken] = life }

inline Put(p, what, says) {
  place[p] = UNSYNCED; number[p] = what; attest[p] = says; chain[p] = last_chain; made_by[p] = life
}

inline WriteOne() {
#ifdef ATTESTS_WRITTEN
  Put(PLACE(current, at), durable + in_current + 1, durable + in_current);
#else
  Put(PLACE(current, at), durable + in_current + 1, durable);
#endif
  last_chain = CHAIN(PLACE(current, at));
  at++; in_current++
}

/* SyncCurrent and SetDurable: what was written to it, and the disk says so. */
inline SyncSegment(segment) {
  p = PLACE(segment, 0);
  do
  :: p < PLACE(segment, ROOM) ->
    if :: place[p] == UNSYNCED -> place[p] = DURABLE :: else fi;
    if
    :: place[p] != NOTHING && !closes[p] && number[p] <= durable + in_current ->
      attested = MAX(attested, attest[p])
    :: else
    fi;
    p++
  :: else -> break
  od;
  p = 0;
  durable = durable + in_current; durable_chain = last_chain; in_current = 0; promised = durable
}

inline DropCurrent() { current = NONE; at = 0; in_current = 0; last_chain = durable_chain }

inline FailSync() {
#ifdef SYNC_AGAIN
  p = PLACE(current, 0);
  do
  :: p < PLACE(current, ROOM) ->
    if :: place[p] == UNSYNCED -> place[p] = LOST_BY_ERROR :: else fi; p++
  :: else -> break
  od;
  p = 0
#else
  DropCurrent()
#endif
}

inline Rotate() {
#ifdef CLOSED_IS_NUMBERED
  durable++; Take();
  last_chain = 1 + PLACE(current, at) + 16 * life; durable_chain = last_chain;
#endif
  filled = current; current = NONE; at = 0
}

inline CloseFull() {
  if
  :: filled != NONE ->
#ifdef CLOSED_IS_NUMBERED
    Put(PLACE(filled, ROOM - 1), durable, durable - 1);
    chain[PLACE(filled, ROOM - 1)] = CHAIN(PLACE(filled, ROOM - 2));
#else
    Put(PLACE(filled, ROOM - 1), next_segment, durable);
    closes[PLACE(filled, ROOM - 1)] = true;
#endif
    filled = NONE
  :: else
  fi
}

/* MakeSegment, up to the rename. */
inline Name() {
  name[next_segment] = UNSYNCED;
  first[next_segment] = durable + in_current + 1; head_chain[next_segment] = last_chain;
#ifdef CLOSED_EARLY
  CloseFull()
#endif
}

/* BeginSegment, from the sync of names on. */
inline BeginSegment() {
#ifdef HEAD_EARLY
  if :: filled != NONE -> SyncSegment(filled) :: else fi;
#endif
#ifndef NAME_LATE
  name[next_segment] = DURABLE;
#endif
  attested = MAX(attested, first[next_segment] - 1);
  CloseFull();
  current = next_segment; at = 0; next_segment++
}

#ifdef HEAD_EARLY
#define MAY_ROTATE true
#else
#define MAY_ROTATE (in_current == 0)
#endif

/* ---- Walk ---- */

byte s, a, p, next, last, after, where, m; /* 0 but within a step */
bool is_damage, is_other;
byte found[BATCHES + 2]; /* where each batch was, from 1 */

#define IS_WHOLE(p) (place[p] == DURABLE)
#define FOLLOWS(p) (IS_WHOLE(p) && chain[p] == after && number[p] == (closes[p] -> s + 1 : next))
#define ATTESTS(p) \
  (IS_WHOLE(p) && attest[p] >= next && (closes[p] -> number[p] == s + 1 : number[p] >= next))

/* Walk::ReadHeads, CheckNext and CheckStart. */
#define GOES_BACK(s) \
  (first[s] < first[s - 1] || (first[s] == first[s - 1] && head_chain[s] != head_chain[s - 1]))
inline ReadHeads() {
  last = 0; s = 1;
  do
  :: s < SEGMENTS && name[s] != NOTHING ->
    is_damage = is_damage || name[s - 1] == NOTHING || GOES_BACK(s);
    last = s; s++
  :: s < SEGMENTS && name[s] == NOTHING -> s++
  :: else -> break
  od;
  s = 0
}

/* Walk::EndHere: batch `next` is not whole, in the last segment. */
inline EndHere() {
  do :: a < ROOM -> is_damage = is_damage || ATTESTS(PLACE(s, a)); a++ :: else -> break od
}

/* Walk::Next, to the end. */
inline WalkAll() {
  is_damage = false; is_other = false;
  ReadHeads();
  a = 0; next = 1; after = 0; where = 0;
  do
  :: is_damage || name[0] == NOTHING -> break
  :: else ->
    p = PLACE(s, a);
    if
    :: s < last && first[s + 1] == next ->
      is_damage = head_chain[s + 1] != after; s++; a = 0
    :: !(s < last && first[s + 1] == next) && a < ROOM && FOLLOWS(p) && !closes[p] ->
      is_other = is_other || made_by[p] != author[next];
      found[next] = p + 1; where = p + 1; after = CHAIN(p); next++; a++
    :: !(s < last && first[s + 1] == next) && a < ROOM && FOLLOWS(p) && closes[p] ->
      is_damage = true
    :: else ->
      if :: s < last -> is_damage = true :: else -> EndHere(); break fi
    fi
  od
}

inline ForgetWalk() {
  s = 0; a = 0; p = 0; last = 0; after = 0; where = 0; next = 0; is_damage = false;
  is_other = false; m = 0;
  do :: m <= BATCHES -> found[m] = 0; m++ :: else -> break od;
  m = 0
}

/* ---- power cuts and starts ---- */

#define IS_LOOSE(p) (place[p] == UNSYNCED || place[p] == LOST_BY_ERROR)

inline ForgetPlace(q) {
  place[q] = NOTHING; closes[q] = false; number[q] = 0; attest[q] = 0; chain[q] = 0; made_by[q] = 0
}

inline ForgetSegment() {
  name[s] = NOTHING; first[s] = 0; head_chain[s] = 0;
  a = 0;
  do :: a < ROOM -> ForgetPlace(PLACE(s, a)); a++ :: else -> break od;
  a = 0
}

inline CutPower() {
  do
  :: d_step { p = 0; do :: p < PLACES && !IS_LOOSE(p) -> p++ :: else -> break od };
    if
    :: p < PLACES -> if :: place[p] = DURABLE :: d_step { ForgetPlace(p) } fi
    :: else -> break
    fi
  od;
  p = 0;
  do
  :: d_step { s = 0; do :: s < SEGMENTS && name[s] != UNSYNCED -> s++ :: else -> break od };
    if
    :: s < SEGMENTS -> if :: name[s] = DURABLE :: d_step { ForgetSegment() } fi
    :: else -> break
    fi
  od;
  s = 0
}

inline CheckEachDamage() {
  m = 1;
  do
  :: m <= attested ->
    assert(found[m] != 0);
    place[found[m] - 1] = NOTHING;
    WalkAll();
    assert(is_damage);
    /* What it was is there again, and found again. */
    place[found[m] - 1] = DURABLE;
    WalkAll();
    m++
  :: else -> break
  od
}

/* LogRecovery, and a new SegmentWriter: what is left is durable now (D9), and promised. */
inline Start() {
  WalkAll();
  assert(!is_damage);
  assert(!is_other);
  assert(next > promised);
  CheckEachDamage();
  life++;
  durable = next - 1; taken = durable; promised = durable; in_current = 0;
  last_chain = after; durable_chain = after;
  filled = NONE;
  next_segment = (name[0] == NOTHING -> 0 : last + 1);
  current = NONE; at = 0;
#ifdef GOES_ON_IN_OLD
  if
  :: where != 0 && (where - 1) % ROOM < ROOM - 2 ->
    current = (where - 1) / ROOM; at = (where - 1) % ROOM + 1
  :: else
  fi;
#endif
  m = taken + 1;
  do :: m <= BATCHES + 1 -> author[m] = 0; m++ :: else -> break od;
  ForgetWalk()
}

#define MAY_WRITE (current != NONE && (in_current == 0 || !durable_writes))
#define MAY_BEGIN (current == NONE && next_segment < SEGMENTS)

active proctype Log() {
  if :: durable_writes = true :: durable_writes = false fi;
  do
  /* GroupCommit passes a batch on; a last one, of quiet, has no operation (GroupCommit::Attest). */
  :: d_step { !WAITS && MAY_WRITE && taken < BATCHES -> Take() }
#ifdef NOTHING_ATTESTS
  :: d_step { !WAITS && in_current == 0 && attested < durable -> attested = durable }
#endif
  :: d_step { WAITS && MAY_WRITE && at < ROOM - 1 -> WriteOne() }
  :: d_step { in_current > 0 && current != NONE -> SyncSegment(current) }
  :: d_step { in_current > 0 && current != NONE -> FailSync() }
  :: d_step { WAITS && current != NONE && in_current == 0 -> DropCurrent() } /* the write failed */
  :: d_step { WAITS && current != NONE && at == ROOM - 1 && MAY_ROTATE -> Rotate() }
  :: d_step { MAY_BEGIN && name[next_segment] == NOTHING -> Name() }
  :: d_step { MAY_BEGIN && name[next_segment] == UNSYNCED -> BeginSegment() }
  :: atomic { CutPower(); d_step { Start() };
      if
      :: life < LIVES -> if :: durable_writes = true :: durable_writes = false fi
      :: life == LIVES -> break
      fi
    }
  od
}
