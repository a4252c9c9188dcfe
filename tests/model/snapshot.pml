/* Snapshots: a pass over a table whose items move while it is written and grows, the file that it
 * makes, and the log that is removed for it.
 *
 * Rules: S1 to S3 and D11 of plov(7); cuckoo/table_pass.cc, server/shard_snapshot.cc and
 * log/snapshots.cc. Property: a power cut at any instant leaves the log up to some write, and a
 * start restores of a key what these writes leave of it. That goes for every key, with the same
 * end, so all together are a beginning that holds everything durable. The start is not refused.
 *
 * Scope. Key A: PUTs and DELETEs of it, and writes of other keys; a table with two buckets that A
 * can be in, the next one with as many, and the stash, between which A moves as
 * cuckoo/growing_table.cc moves it, for ever; any number of snapshots, one after the other. A
 * snapshot may be bad on the disk, which only reading it back tells.
 *
 * Abstraction. What the shard's thread does between two requests or slices is one step: nobody else
 * writes to the table. Each write is a batch of its own. The log ends with any batch from the last
 * durable one on: log_end.pml. A snapshot begins in any segment that begins early enough: the
 * product takes the last such. The power cut changes no state of the model: whatever a cut would
 * leave is restored in every state, and the server goes on as if there had been none. What was
 * removed is gone at once.
 *
 * Not modelled: batches of several writes (replay then begins earlier), records and their copying,
 * damage in memory, --snapshot-keep above 1, expired items, lives after the power cut.
 *
 *   switch MOVE_NOT_TOLD         S1: the pass is told of no item that moves
 *   switch TOLD_FROM_STASH_ONLY  S1: it is told of those from the stash, not of those in a table
 *   switch TOLD_IN_TABLE_ONLY    S1: it is told of those in a table, not of those from the stash
 *   switch NEXT_FORGOTTEN        S1: the pass goes from the table to the stash, past the next table
 *   switch START_IS_OPEN         S2: replay begins with the open batch, whatever is pending
 *   switch NEEDS_NOTHING         S3: the snapshot does not wait for the log
 *   switch REMOVED_EARLY         D11: the log is removed before the snapshot has its name
 *   switch FIRST_REMOVED         D11: so is the segment that replay begins with
 *   switch REPLACED_UNREAD       D11: the snapshot gets its name before it is read back
 */
#define WRITES 3
#define SEGMENTS 3

/* ---- the log ---- */

#define OTHER 0 /* of another key */
#define PUT 1
#define DELETE 2

bool strict;    /* a write changes the table when it is durable; else at once */
byte last;      /* writes, from 1, which are batches and versions too */
byte write[WRITES + 1];
byte published; /* those up to this one are in the table */
byte durable;

byte oldest = 1, newest = 1; /* segments */
byte first[SEGMENTS + 1];    /* batch of each */

/* ---- the table: where A is, in the order in which the pass reads ---- */

#define NOWHERE 0
#define BUCKETS 2
#define IN_TABLE(table, bucket) (1 + (table) * BUCKETS + (bucket))
#define STASHED 5
#define IS_IN_FIRST (place == 1 || place == 2)
#define IS_IN_NEXT (place == 3 || place == 4)

byte place;
byte version; /* 0: it is not there */
bool grows;   /* keys travel to the next table */

/* ---- the snapshot ---- */

#define IDLE 0
#define PASSES 1
#define READ 2    /* the pass is over */
#define CLOSED 3  /* the file is complete, and synced */
#define RENAMED 4 /* its name can be lost */
#define NAMED 5   /* it cannot */
byte stage;

/* TablePass. */
#define BEHIND 2 /* it is in a table that is history */
byte pass_in;    /* 0: the first table, 1: the next */
byte read_end;
bool in_stash;

byte made_last;  /* writes when it began */
byte made_start; /* replay begins with it */
byte made_needs, made_segment;
byte made;       /* A's version in it */

/* The newest that has its name; segment 0: there is none. */
byte one_start, one_segment, one;

#ifdef REPLACED_UNREAD
bool made_is_bad, one_is_bad;
#else
#define made_is_bad false
#define one_is_bad false
#endif

byte i, start, segment, end, back, right; /* 0 but within a step */
bool takes_made;

/* ---- the log's thread ---- */

/* Makes states that differ only in what nobody asks for one: what a durable write has replaced. */
inline Tidy() {
  if
  :: write[durable] != OTHER ->
    i = 1;
    do :: i < durable -> write[i] = OTHER; i++ :: else -> break od;
    i = 0
  :: else
  fi
}

active proctype Log() {
  do
  :: d_step { durable < last -> durable++; Tidy() }
  /* SegmentWriter::Rotate. */
  :: d_step { durable < last && newest < SEGMENTS -> newest++; first[newest] = durable + 1 }
  od
}

/* ---- the shard ---- */

#define IS_PENDING(n) (published < (n) && last >= (n) && write[n] != OTHER)
#define A_IS_PENDING (IS_PENDING(1) || IS_PENDING(2) || IS_PENDING(3))

inline Publish() {
  published++;
  if
  :: write[published] == DELETE -> place = NOWHERE; version = 0
  :: write[published] == PUT ->
    version = published;
    if
    :: place != NOWHERE
    :: place == NOWHERE -> place = STASHED
    :: place == NOWHERE -> place = IN_TABLE(grows, 0)
    :: place == NOWHERE -> place = IN_TABLE(grows, 1)
    fi
  :: else
  fi
}

/* ShardSnapshot::Meet and CopyFirst: what was written since the beginning is left to the log. */
inline Meet() { if :: version <= made_last -> made = version :: else fi }
inline MeetAt(where) { if :: place == (where) -> Meet() :: else fi }

#if defined(MOVE_NOT_TOLD) || defined(TOLD_FROM_STASH_ONLY)
#define IS_TOLD_IN_TABLE false
#else
#define IS_TOLD_IN_TABLE (stage == PASSES)
#endif
#if defined(MOVE_NOT_TOLD) || defined(TOLD_IN_TABLE_ONLY)
#define IS_TOLD_FROM_STASH false
#else
#define IS_TOLD_FROM_STASH (stage == PASSES)
#endif

/* Table::Move, of either table. */
inline Displace(table, from, to) {
  if
  :: IS_TOLD_IN_TABLE && pass_in == (table) && (to) < read_end && read_end <= (from) -> Meet()
  :: else
  fi;
  place = IN_TABLE(table, to)
}

/* GrowingTable::UnstashOne. */
inline Unstash(to) {
  place = IN_TABLE(0, to);
  if :: IS_TOLD_FROM_STASH -> Meet() :: else fi
}

/* GrowingTable::Switch. */
inline Switch() {
  grows = false;
  if :: IS_IN_NEXT -> place = place - BUCKETS :: else fi;
  if
  :: stage == PASSES && !in_stash -> pass_in = (pass_in == 1 -> 0 : BEHIND)
  :: else
  fi
}

/* ShardSnapshot::Begin. Rule S2. */
inline BeginPass() {
  stage = PASSES; made_last = last;
#ifdef START_IS_OPEN
  made_start = last + 1
#else
  made_start = published + 1
#endif
}

#ifdef NEXT_FORGOTTEN
#define HAS_NEXT false
#else
#define HAS_NEXT (grows && pass_in == 0)
#endif

/* ShardSnapshot::Read, once all was met. Rule S3. */
inline EndPass() {
  stage = READ; made_last = 0; in_stash = false; pass_in = 0; read_end = 0;
#ifndef NEEDS_NOTHING
  made_needs = last
#endif
}

/* TablePass::StepOne, with Place and Enter. */
inline StepPass() {
  if
  :: !in_stash && pass_in == BEHIND -> pass_in = 0; read_end = 0
  :: !in_stash && read_end == BUCKETS && HAS_NEXT -> pass_in = 1; read_end = 0
  :: else
  fi;
  if
  :: !in_stash && read_end < BUCKETS -> MeetAt(IN_TABLE(pass_in, read_end)); read_end++
  :: !in_stash && read_end == BUCKETS -> in_stash = true; pass_in = 0; MeetAt(STASHED)
  :: in_stash -> EndPass()
  fi
}

active proctype Shard() {
  if :: strict = false :: strict = true fi;
  first[1] = 1;
  do
  /* Store::PublishDurable. */
  :: atomic { published < last && published < durable -> Publish() }
  :: d_step { place == IN_TABLE(0, 0) -> Displace(0, 0, 1) }
  :: d_step { place == IN_TABLE(0, 1) -> Displace(0, 1, 0) }
  :: d_step { place == IN_TABLE(1, 0) -> Displace(1, 0, 1) }
  :: d_step { place == IN_TABLE(1, 1) -> Displace(1, 1, 0) }
  /* GrowingTable::StartMoving, MoveOne, Switch. */
  :: !grows -> grows = true
  :: d_step { grows && IS_IN_FIRST -> place = IN_TABLE(1, 0) }
  :: d_step { grows && IS_IN_FIRST -> place = IN_TABLE(1, 1) }
  :: d_step { grows && IS_IN_FIRST -> place = STASHED }
  :: d_step { grows && !IS_IN_FIRST -> Switch() }
  :: d_step { !grows && place == STASHED -> Unstash(0) }
  :: d_step { !grows && place == STASHED -> Unstash(1) }
  :: d_step { stage == IDLE -> BeginPass() }
  :: d_step { stage == PASSES -> StepPass() }
  /* With `acked` and `async` the table, then the log; else the log, and later the table. */
  :: atomic { last < WRITES ->
      if
      :: write[last + 1] = OTHER
      :: !A_IS_PENDING -> write[last + 1] = PUT
      :: !A_IS_PENDING && place != NOWHERE -> write[last + 1] = DELETE
      fi;
      last++;
      if :: !strict -> Publish() :: else fi
    }
  od
}

/* ---- the thread that writes snapshots ---- */

#define CAN_BEGIN(segment) \
  (oldest <= (segment) && (segment) <= newest && first[segment] <= made_start)

/* Snapshots::SegmentOf, SnapshotWriter::Close. */
inline Close() {
  if
  :: CAN_BEGIN(1) -> made_segment = 1
  :: CAN_BEGIN(2) -> made_segment = 2
  :: CAN_BEGIN(3) -> made_segment = 3
  fi;
#ifdef REPLACED_UNREAD
  if :: made_is_bad = true :: made_is_bad = false fi;
#endif
  stage = CLOSED; made_needs = 0
}

inline ForgetMade() {
  stage = IDLE; made_start = 0; made_segment = 0; made = 0;
#ifdef REPLACED_UNREAD
  made_is_bad = false
#endif
}

/* It is the newest, and has taken the place of one of the same segment. One that is bad is passed
 * over, if there is another still. */
#define REPLACES (!made_is_bad || one_segment == made_segment)
inline Name() {
  if
  :: REPLACES -> one_start = made_start; one_segment = made_segment; one = made;
#ifdef REPLACED_UNREAD
    one_is_bad = made_is_bad
#endif
  :: else
  fi
}

#ifdef FIRST_REMOVED
#define IS_NEEDLESS (oldest <= made_segment && oldest < newest)
#else
#define IS_NEEDLESS (oldest < made_segment && oldest < newest)
#endif

active proctype Snapshots() {
  do
  :: atomic { stage == READ && durable >= made_needs -> Close() }
  /* SnapshotWriter::ReadBack, which finds that it is bad or not, and then Publish. */
#if defined(REPLACED_UNREAD)
  :: d_step { stage == CLOSED -> stage = RENAMED }
  :: d_step { stage == RENAMED ->
      Name(); if :: made_is_bad -> ForgetMade() :: else -> stage = NAMED fi
    }
#else
  :: d_step { stage == CLOSED -> ForgetMade() }
#ifdef REMOVED_EARLY
  :: d_step { stage == CLOSED && IS_NEEDLESS -> first[oldest] = 0; oldest++ }
#endif
  :: d_step { stage == CLOSED -> stage = RENAMED }
  :: d_step { stage == RENAMED -> Name(); stage = NAMED }
#endif
  /* Snapshots::RemoveNeedless. */
  :: d_step { stage == NAMED && IS_NEEDLESS -> first[oldest] = 0; oldest++ }
  :: d_step { stage == NAMED && !IS_NEEDLESS -> ForgetMade() }
  od
}

/* ---- the power cut, and LogRecovery ---- */

/* With the log up to `end`; a name that was not durable is there or not. */
inline ComeBack() {
  if
  :: takes_made && !made_is_bad -> start = made_start; segment = made_segment; back = made
  :: !(takes_made && REPLACES) && one_segment != 0 && !one_is_bad ->
    start = one_start; segment = one_segment; back = one
  :: else -> start = 1; segment = 1
  fi;
  /* Walk::CheckStart. */
  assert(segment >= oldest && first[segment] <= start);
  i = 1;
  do
  :: i <= end && write[i] != OTHER ->
    right = (write[i] == PUT -> i : 0);
    if :: i >= start -> back = right :: else fi;
    i++
  :: i <= end && write[i] == OTHER -> i++
  :: else -> break
  od;
  assert(back == right);
  i = 0; start = 0; segment = 0; end = 0; back = 0; right = 0; takes_made = false
}

active proctype PowerCut() {
  do
  :: d_step { end = durable; ComeBack() }
  :: d_step { durable + 1 <= last -> end = durable + 1; ComeBack() }
  :: d_step { durable + 2 <= last -> end = durable + 2; ComeBack() }
  :: d_step { durable + 3 <= last -> end = durable + 3; ComeBack() }
  :: d_step { stage == RENAMED -> takes_made = true; end = durable; ComeBack() }
  :: d_step { stage == RENAMED && durable < last -> takes_made = true; end = last; ComeBack() }
  od
}
