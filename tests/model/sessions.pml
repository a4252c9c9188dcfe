/* The sessions in a snapshot: how a start knows which writes of a client were applied.
 *
 * Rules: S2 to S4 of plov(7); server/sessions.cc, server/shard_snapshot.cc. Property: a power cut at
 * any instant leaves the log up to some write. A start that goes on from a snapshot and that log
 * takes a client's write for applied if and only if it is among those that the log has up to there;
 * where it knows nothing of the client, either there is no write of it, or the start says that it
 * does not know. So a retry is applied once, or refused.
 *
 * Scope. One client, its writes and those of others; it comes, goes, and is forgotten as one of many
 * (--max-clients); its session is one that a start has restored, or among the others, in one of two
 * buckets once these have become more. Any number of snapshots, one after the other.
 *
 * Abstraction. What the shard's thread does between two requests or slices is one step. Each write
 * is a batch of its own, applied when it is appended. The pass over the table is one step
 * (snapshot.pml); the log before a snapshot's start is gone with its name. The power cut changes no
 * state of the model: whatever a cut would leave is restored in every state.
 *
 *   switch TAKEN_BEFORE  S4: the sessions are taken before the pass begins
 *   switch TAKEN_LATE    S4: they are taken when S3 has named a batch
 *   switch OTHERS_FIRST  S4: those that were restored are taken last
 *   switch GOES_ON       S4: the taking goes on when the others are put into more buckets
 *   switch ALL_SAID      S4: the snapshot says that these are all, whether one was dropped or not
 *   switch EMPTY_TAKEN   a session without writes counts as one that knows that there are none
 */
#define WRITES 3

byte last;               /* writes, from 1, which are batches and versions too */
byte number[WRITES + 1]; /* of the client's own, in its order; 0: another client's */
byte durable;
byte written; /* the client's last number */

/* ---- the client's session ---- */

#define NOWHERE 0
#define RESTORED 1
#define OTHERS 2
byte place;
byte bucket, buckets = 1; /* of the others */
byte known;               /* the last number in it; 0: none */
bool is_first;            /* it knows that there was none before */
bool dropped;             /* some session was */

/* ---- the snapshot ---- */

#define IDLE 0
#define PASSES 1
#define TAKES 2 /* those that were restored */
#define TAKES_OTHERS 3
#define TAKEN 4
byte stage;
#define NO_BATCH 255
byte made_start, made_needs; /* needs 0: not named yet */
bool made_has, made_all;
byte made;     /* the number in the session that it has */
byte at, size; /* buckets that were read, and were there */
/* The newest that has its name. */
byte one_start = 1;
bool one_has, one_all = true;
byte one;

byte i, end, back, right; /* 0 but within a step */
bool has;

#define TAKE(is_there) \
  if \
  :: (is_there) && (known > 0 || IS_EMPTY_TAKEN) -> \
    if :: !made_has || known > made -> made = known :: else fi; \
    made_has = true \
  :: else \
  fi
#ifdef EMPTY_TAKEN
#define IS_EMPTY_TAKEN true
#else
#define IS_EMPTY_TAKEN is_first
#endif

/* Sessions::Enter: once a session is among the others it stays there. */
inline Come() {
  if
  :: place == NOWHERE -> known = 0; is_first = !dropped
  :: else
  fi;
  place = OTHERS;
  if
  :: bucket = 0
  :: buckets == 2 -> bucket = 1
  fi
}

active proctype Shard() {
  if
  /* A former life, of which the log and the restored session know. */
  :: d_step { true -> last = 1; durable = 1; number[1] = 1; written = 1; known = 1; place = RESTORED }
  :: true
  fi;
  do
  :: atomic { place != OTHERS -> Come() }
  :: d_step { place == OTHERS && last < WRITES ->
      last++; written++; number[last] = written; known = written
    }
  :: d_step { last < WRITES -> last++ }
  /* Sessions::Leave. */
  :: d_step { place == OTHERS ->
      place = NOWHERE; known = 0; bucket = 0; is_first = false; dropped = true
    }
  :: atomic { buckets == 1 ->
      buckets = 2;
      if :: place == OTHERS -> bucket = 1 :: true fi
    }
  od
}

active proctype Log() {
  do
  :: d_step { durable < last -> durable++ }
  od
}

/* ---- ShardSnapshot and Sessions::Pass ---- */

inline Begin() { made_start = last + 1; stage = PASSES }

inline BeginTaking() { made_has = false; made = 0; at = 0; size = buckets; stage = TAKES }

inline TakeRestored() {
  TAKE(place == RESTORED);
#ifdef OTHERS_FIRST
  stage = TAKEN
#else
  stage = TAKES_OTHERS
#endif
}

#ifdef GOES_ON
#define IS_GROWN false
#else
#define IS_GROWN (size != buckets)
#endif

inline TakeBucket() {
  TAKE(place == OTHERS && bucket == at);
  at++;
  if
  :: at < size -> skip
#ifdef OTHERS_FIRST
  :: else -> TakeRestored()
#else
  :: else -> stage = TAKEN
#endif
  fi
}

inline Finish() {
#ifdef ALL_SAID
  one_all = true;
#else
  one_all = made_all;
#endif
  one_start = made_start; one_has = made_has; one = made;
  stage = IDLE; made_start = 0; made_needs = 0;
  made_has = false; made_all = false; made = 0; at = 0; size = 0
}

active proctype Snapshot() {
  do
#ifdef TAKEN_BEFORE
  :: d_step { stage == IDLE -> BeginTaking() }
#else
  :: d_step { stage == IDLE -> Begin() }
  :: d_step { stage == PASSES ->
#ifdef TAKEN_LATE
      made_needs = last;
#endif
      BeginTaking()
    }
#endif
#ifdef OTHERS_FIRST
  :: d_step { stage == TAKES -> stage = TAKES_OTHERS }
#else
  :: d_step { stage == TAKES -> TakeRestored() }
#endif
  :: d_step { stage == TAKES_OTHERS && IS_GROWN -> BeginTaking() }
  :: d_step { stage == TAKES_OTHERS && !IS_GROWN -> TakeBucket() }
  :: d_step { stage == TAKEN && made_needs == 0 ->
#ifdef TAKEN_BEFORE
      made_start = last + 1;
#endif
      made_all = !dropped; made_needs = (last == 0 -> NO_BATCH : last)
    }
  /* Rule S3. */
  :: d_step { stage == TAKEN && (made_needs == NO_BATCH || durable >= made_needs) && made_needs != 0 ->
      Finish()
    }
  od
}

/* ---- the power cut, and LogRecovery ---- */

/* With the log up to `end`. */
inline ComeBack() {
  has = one_has; back = one; right = 0;
  i = 1;
  do
  :: i <= end ->
    if
    :: number[i] != 0 -> right = number[i];
      if :: i >= one_start -> has = true; back = number[i] :: else fi
    :: else
    fi;
    i++
  :: else -> break
  od;
  assert(has || !one_all || right == 0);
  assert(!has || back == right);
  i = 0; end = 0; back = 0; right = 0; has = false
}

active proctype PowerCut() {
  do
  :: d_step { end = durable; ComeBack() }
  :: d_step { durable + 1 <= last -> end = durable + 1; ComeBack() }
  :: d_step { durable + 2 <= last -> end = durable + 2; ComeBack() }
  od
}
