/* The pipeline: the writes of a shard on their way to the log, to readers and to those who wait for
 * a reply, with `strict`, `acked` and `async`; and a power cut at any instant.
 *
 * Rules: D1 to D4 and D10 of plov(7). Properties, of what comes back after the power cut:
 *   - always: it is what the first so many writes leave, in the order of their versions;
 *   - strict: no write is missing that a reply or a GET has told of, so nothing deleted returns;
 *   - acked: none that a reply has told of, a refusal's too;
 *   - async: none that was acknowledged before a Sync was sent whose reply has come.
 * And while the server lives:
 *   - no GET goes back behind a reply or an earlier GET;
 *   - an ADD that is acknowledged found no key, a DELETE found one;
 *   - strict: what is published is a beginning of the durable log.
 *
 * Scope. Two keys; PUT, ADD and DELETE of either, by any number of clients; a GET of either at any
 * time; a refusal and a Sync that wait at a time. Of the writes the last three are remembered: the
 * first of them is forgotten when it is durable, published and acknowledged, so the search covers
 * histories of any length. Batches are numbered from the last durable one.
 *
 * Abstraction. A GET is one step: basic.pml and known.pml show that it finds what was so at an
 * instant. A batch comes back whole or not at all, and none without those before it: log_end.pml. A
 * reply may be told as soon as its own write is settled; the product waits for all of its batch and
 * for the replies before it. The power cut changes no state of the model: whatever a cut would
 * leave is looked at in every state, and the server goes on as if there had been none. A killed
 * process loses no more than a power cut.
 *
 * Not modelled: errors of the disk (D8), retries, conditions on versions, expiry, full tables and a
 * full buffer, lives after the power cut, the warm file.
 *
 * Without one of the rules a caller can see that something is wrong.
 *
 *   switch ACKNOWLEDGED_EARLY       D4: a reply to a write does not wait until it is durable
 *   switch ACKNOWLEDGED_UNPUBLISHED D4: with strict it waits for that, and not until published
 *   switch REFUSED_EARLY            D4: a refusal does not wait for the writes that it tells of
 *   switch REFUSED_UNPUBLISHED      D4: with strict it waits until they are durable, and not published
 *   switch SYNC_EARLY               Sync is answered when its batch is written and not yet durable
 *   switch PUBLISHED_EARLY          D3: with strict a write is published before it is durable
 *   switch DECIDED_EARLY            D10: decided by the table while a write of the key is pending
 *   switch DELETE_NOT_LOGGED        D1: a delete appends nothing
 *   switch PUBLISHED_OUT_OF_ORDER   D3: of the durable writes any is published next
 */
#define WRITES 3
#define KEYS 2

#define STRICT 0
#define ACKED 1
#define ASYNC 2
byte mode;

#define PUT 1
#define ADD 2
#define DELETE 3

#define NOT_YET 8 /* as a batch: the bucket is rewritten, nothing is appended */

/* The writes that are remembered, 1 to `last`, in the order of their versions; "write 0 of a key"
 * is what the forgotten ones left of it. */
byte last;
byte kind[WRITES + 1], key[WRITES + 1];
byte batch[WRITES + 1]; /* 0: durable */
bool published[WRITES + 1];
bool answered[WRITES + 1];
bool held[KEYS]; /* write 0 left the key there */

#ifdef DELETE_NOT_LOGGED
bool is_not_logged[WRITES + 1]; /* such a one is not forgotten, so after three there are no more */
#define LOGGED(write) (!is_not_logged[write])
#else
#define LOGGED(write) true
#endif

byte shows[KEYS]; /* the write of the key that readers see */
byte heard[KEYS]; /* the greatest that a reply or a GET has told of */
byte promised;    /* all writes up to this one come back */

/* GroupCommit. Batches 1 to `passed` were passed on, those up to `written` are written. */
byte passed, written;
bool open; /* batch `passed` + 1 has an operation */
#define LAST_BATCH (open -> passed + 1 : passed)

/* Replies that wait, beside those of writes: what they tell of, and the batch that they rest on. */
bool refuses, syncs;
byte refusal_key, refusal_tells, refusal_rests_on;
byte sync_tells, sync_rests_on;

byte i, from, to; /* 0 but within a step */
bool is_found;
byte back[KEYS];

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define IS_THERE(k, write) ((write) == 0 -> held[k] : kind[write] != DELETE)

/* The last write of the key up to `end`. */
#define LAST_OF(k, end) \
  ((end) >= 3 && key[3] == (k) -> 3 : ((end) >= 2 && key[2] == (k) -> 2 : \
   ((end) >= 1 && key[1] == (k) -> 1 : 0)))
/* The same of those that a log up to batch `end` has. */
#define IS_LOGGED(k, write, end) \
  (last >= (write) && key[write] == (k) && batch[write] <= (end) && LOGGED(write))
#define LAST_LOGGED(k, end) \
  (IS_LOGGED(k, 3, end) -> 3 : (IS_LOGGED(k, 2, end) -> 2 : (IS_LOGGED(k, 1, end) -> 1 : 0)))

#define Less(x) x = ((x) > 0 -> (x) - 1 : 0)

/* Forgets what nobody asks for any more. */
inline Fold() {
  do
  :: last > 0 && batch[1] == 0 && published[1] && answered[1] && LOGGED(1) ->
    held[key[1]] = kind[1] != DELETE;
    i = 1;
    do
    :: i < last ->
      kind[i] = kind[i + 1]; key[i] = key[i + 1]; batch[i] = batch[i + 1];
      published[i] = published[i + 1]; answered[i] = answered[i + 1]; i++
    :: else -> break
    od;
    kind[last] = 0; key[last] = 0; batch[last] = 0; published[last] = false; answered[last] = false;
    last--;
    Less(shows[0]); Less(shows[1]); Less(heard[0]); Less(heard[1]); Less(promised);
    Less(refusal_tells); Less(sync_tells)
  :: else -> break
  od;
  i = 0
}

/* ---- the shard ---- */

/* GroupCommit::Append. */
inline Append(write) {
  if
#ifdef DELETE_NOT_LOGGED
  :: kind[write] == DELETE -> batch[write] = LAST_BATCH; is_not_logged[write] = true
#endif
  :: else -> batch[write] = passed + 1; open = true
  fi
}

inline Publish(write) { published[write] = true; shows[key[write]] = write }

inline Decide() { last++; kind[last] = what; key[last] = k }

#ifdef DECIDED_EARLY
#define DECIDED_BY(k) shows[k]
#else
#define DECIDED_BY(k) LAST_OF(k, last) /* Store::FindTarget */
#endif
#define IS_REFUSED \
  ((what == ADD && IS_THERE(k, DECIDED_BY(k))) || (what == DELETE && !IS_THERE(k, DECIDED_BY(k))))

#ifdef ACKNOWLEDGED_EARLY
#define IS_SETTLED(write) (batch[write] != NOT_YET)
#elif defined(ACKNOWLEDGED_UNPUBLISHED)
#define IS_SETTLED(write) (batch[write] == 0 || (mode == ASYNC && batch[write] != NOT_YET))
#else
#define IS_SETTLED(write) \
  (published[write] && (batch[write] == 0 || (mode == ASYNC && batch[write] != NOT_YET)))
#endif
#define MAY_ANSWER(write) (last >= (write) && !answered[write] && IS_SETTLED(write))

/* Shard::SendSettled, of a write. */
inline Answer(write) {
  assert(kind[write] != ADD || !IS_THERE(key[write], LAST_OF(key[write], write - 1)));
  assert(kind[write] != DELETE || IS_THERE(key[write], LAST_OF(key[write], write - 1)));
  answered[write] = true;
  Hear(key[write], write, mode != ASYNC);
  Fold()
}

inline Hear(k, write, promises) {
  heard[k] = MAX(heard[k], write);
  if :: promises -> promised = MAX(promised, write) :: else fi
}

#ifdef REFUSED_EARLY
#define REFUSAL_WAITS false
#else
#define REFUSAL_WAITS (mode != ASYNC && DECIDED_BY(k) > promised)
#endif

/* Store::Refuse: what is there, or was deleted, is told. That rests on the last batch there is, but
 * who is told nothing new need not be looked at while he waits. */
inline Refuse() {
  if
  :: REFUSAL_WAITS ->
    refuses = true; refusal_key = k; refusal_tells = DECIDED_BY(k); refusal_rests_on = LAST_BATCH
  :: else -> Hear(k, DECIDED_BY(k), mode != ASYNC)
  fi
}

#ifdef REFUSED_UNPUBLISHED
#define MAY_TELL_REFUSAL (refuses && refusal_rests_on == 0)
#else
#define MAY_TELL_REFUSAL \
  (refuses && refusal_rests_on == 0 && (refusal_tells == 0 || published[refusal_tells]))
#endif

inline TellRefusal() {
  Hear(refusal_key, refusal_tells, true);
  refuses = false; refusal_key = 0; refusal_tells = 0; refusal_rests_on = 0
}

/* Shard::AnswerSync, and its reply: in the other modes replies have told of it all. */
#define ANSWERED (answered[3] -> 3 : (answered[2] -> 2 : (answered[1] -> 1 : 0)))
inline AskSync() { syncs = true; sync_tells = ANSWERED; sync_rests_on = LAST_BATCH }
#ifdef SYNC_EARLY
#define MAY_ANSWER_SYNC (sync_rests_on <= written)
#else
#define MAY_ANSWER_SYNC (sync_rests_on == 0)
#endif
inline AnswerSync() {
  promised = MAX(promised, sync_tells);
  syncs = false; sync_tells = 0; sync_rests_on = 0
}

/* Store::PublishDurable. */
#ifdef PUBLISHED_EARLY
#define IS_DURABLE(write) true
#else
#define IS_DURABLE(write) (batch[write] == 0)
#endif
#ifdef PUBLISHED_OUT_OF_ORDER
#define ALL_BEFORE(write) true
#else
#define ALL_BEFORE(write) \
  (((write) < 2 || published[1]) && ((write) < 3 || published[2]))
#endif
#define MAY_PUBLISH(write) \
  (mode == STRICT && last >= (write) && !published[write] && IS_DURABLE(write) && ALL_BEFORE(write))

active proctype Shard() {
  byte k, what;

  if :: mode = STRICT :: mode = ACKED :: mode = ASYNC fi;
Next:
  do
  :: atomic {
      last < WRITES ->
      if :: k = 0 :: k = 1 fi;
      if :: what = PUT :: what = ADD :: what = DELETE fi;
      if
      :: IS_REFUSED && !refuses -> Refuse()
      /* Store::Defer: decided, and in the log. */
      :: !IS_REFUSED && mode == STRICT -> Decide(); Append(last)
      /* Store::WriteInline: the bucket, then the log, and no other step of the shard between. */
      :: !IS_REFUSED && mode != STRICT ->
        Decide(); batch[last] = NOT_YET; Publish(last); k = 0; what = 0; goto Appends
      :: else /* it waits */
      fi;
      k = 0; what = 0; goto Next
    };
Appends:
    atomic { Append(last) }
  :: d_step { open && passed == written -> passed++; open = false } /* GroupCommit::PassOn */
  :: d_step { MAY_PUBLISH(1) -> Publish(1); Fold() }
  :: d_step { MAY_PUBLISH(2) -> Publish(2); Fold() }
  :: d_step { MAY_PUBLISH(3) -> Publish(3); Fold() }
  :: d_step { MAY_ANSWER(1) -> Answer(1) }
  :: d_step { MAY_ANSWER(2) -> Answer(2) }
  :: d_step { MAY_ANSWER(3) -> Answer(3) }
  :: d_step { MAY_TELL_REFUSAL -> TellRefusal() }
  :: d_step { mode == ASYNC && !syncs && ANSWERED > promised -> AskSync() }
  :: d_step { syncs && MAY_ANSWER_SYNC -> AnswerSync() }
  od
}

/* ---- the log's thread ---- */

#define NumberAnew(x) x = ((x) < NOT_YET -> ((x) > written -> (x) - written : 0) : (x))

/* SegmentWriter::SetDurable. */
inline SetDurable() {
  NumberAnew(batch[1]); NumberAnew(batch[2]); NumberAnew(batch[3]);
  NumberAnew(refusal_rests_on); NumberAnew(sync_rests_on);
  passed = passed - written; written = 0;
  Fold()
}

active proctype Log() {
  do
  /* SegmentWriter::Write: with O_DSYNC that is all. */
  :: d_step { passed > written -> written = passed; if :: mode != ASYNC -> SetDurable() :: else fi }
  /* SegmentWriter::Sync. */
  :: d_step { mode == ASYNC && written > 0 -> SetDurable() }
  od
}

/* ---- readers, and the power cut ---- */

inline Get(k) {
  assert(shows[k] >= heard[k]);
  Hear(k, shows[k], mode == STRICT)
}

active proctype Readers() {
  do
  :: d_step { Get(0) }
  :: d_step { Get(1) }
  od
}

/* Of the batches that were passed on any beginning can be on the disk. One GET of each key then. */
inline ComeBack() {
  back[0] = LAST_LOGGED(0, to); back[1] = LAST_LOGGED(1, to);
  from = promised;
  do
  :: from <= last && !is_found ->
    is_found = LAST_OF(0, from) == back[0] && LAST_OF(1, from) == back[1]; from++
  :: else -> break
  od;
  assert(is_found);
  from = 0; to = 0; is_found = false; back[0] = 0; back[1] = 0
}

#ifndef OUTSIDE
#define IS_BEGINNING \
  ((!published[1] || batch[1] == 0) && (!published[2] || (batch[2] == 0 && published[1])) && \
   (!published[3] || (batch[3] == 0 && published[2])))
#else
#define IS_BEGINNING true
#endif

active proctype PowerCut() {
  do
  :: d_step { to = 0; ComeBack() }
  :: d_step { passed >= 1 -> to = 1; ComeBack() }
  :: d_step { passed >= 2 -> to = 2; ComeBack() }
  :: d_step { passed >= 3 -> to = 3; ComeBack() }
  :: assert(mode != STRICT || IS_BEGINNING)
  od
}
