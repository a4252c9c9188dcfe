/* What key A has held and may be returned: the property that the models share.
 *
 * Every copy of a value of A carries a tag, and so does "absent", which is a value too:
 *
 *   OLD  was replaced before the GET that runs had begun, or is another key's
 *   NOW  is what A holds
 *   WAS  is what A held at some instant of the GET that runs, and holds no more
 *   WIP  is being stored by a write that has not taken effect
 *
 * Tags follow values instead of naming them, so writes and GETs are not counted and need no end:
 * the search covers histories of any length.
 *
 * The property, as the correct models are checked: a GET returns NOW or WAS. A write takes effect
 * at one store, Effect(), which comes before its acknowledgement (rule W6), and a GET begins with
 * its first READ and ends with its last, which is less than its callers see. So each GET returns
 * what A held at an instant of its own: all GETs, of any number of readers, are linearizable
 * together, and none that follows another goes back behind it.
 *
 * The property, as the broken models are checked (-DOUTSIDE): only what callers can see. A GET may
 * also return WIP: a write may take effect anywhere from its begin to its acknowledgement. It may
 * not return what an acknowledged write had replaced before it began, nor what is older than an
 * earlier GET has returned. That is weaker, so what it finds is wrong in every reading of
 * "linearizable".
 */
#define OLD 0
#define NOW 1
#define WAS 2
#define WIP 3

byte tag[COPIES];      /* of each copy of a value of A, wherever it is */
byte absent = NOW;     /* the tag of "absent", but never WAS ... */
bool was_absent;       /* ... which is this */
byte stored = NOW;     /* the tag that the stores of the write under way give */
bool getting;          /* a GET has begun and not ended */

#define TAGS(from, to) \
  tally = 0; do :: tally < COPIES -> \
    if :: tag[tally] == (from) -> tag[tally] = (to) :: else fi; tally++ \
  :: else -> break od; tally = 0

byte tally; /* 0 but within a step */

/* The write under way replaces what A holds. */
inline Settle() {
  TAGS(NOW, (getting -> WAS : OLD));
  if :: absent == NOW -> was_absent = getting; absent = OLD :: else fi;
  TAGS(WIP, NOW);
  if :: absent == WIP -> absent = NOW :: else fi;
  stored = NOW
}

inline BeginPut() { stored = WIP }
inline BeginDelete() { stored = WIP; absent = WIP }

#ifdef OUTSIDE
#define Effect() skip
#define Anew() skip
#define Acknowledge() Settle()
#define MAY_RETURN(t) ((t) != OLD)
#define MAY_MISS (was_absent || absent != OLD)
#else
#define Effect() Settle()
#define Anew() End()
#define Acknowledge() assert(stored == NOW)
#define MAY_RETURN(t) ((t) == NOW || (t) == WAS)
#define MAY_MISS (was_absent || absent == NOW)
#endif

/* A GET that begins anew keeps nothing, so it is checked as if it began only then: Anew(). */
inline End() { TAGS(WAS, OLD); was_absent = false; getting = false }

/* A value seen of a write that is not acknowledged: what it replaces is old from here on. */
inline Overtake() {
  TAGS(NOW, OLD);
  if :: absent == NOW -> absent = OLD :: else fi
}

inline EndHit(t) {
  assert(MAY_RETURN(t));
  if :: (t) == WIP -> Overtake() :: else fi;
  End()
}

inline EndMiss() {
  assert(MAY_MISS);
  if :: !was_absent && absent == WIP -> Overtake() :: else fi;
  End()
}
