/* A shard with replicas on several servers: GETs are linearizable although the memory of a deposed
 * primary goes on answering READs.
 *
 * This is the proof of rules that nothing in plov follows yet. A register of configurations, which
 * changes by compare-and-set, says of each epoch who its primary is and who its members are; each member
 * shows the epoch that it is in, its oath, in memory that clients READ.
 *
 *   M1  A member clears its oath before it proposes the next configuration, and shows it again only when
 *       that was refused and cannot be accepted any more: what is unknown is killed, by writing the
 *       present configuration again.
 *   M2  It accepts an APPEND only of the epoch whose oath it shows, in order.
 *   M3  The primary publishes a write when every member holds it, and whoever is being added or dropped.
 *   M4  A new primary puts its log in the place of the others', publishes all of it when they hold it,
 *       shows its oath only then, and serves.
 *   M5  A configuration names memory: a server that has lost it is a stranger.
 *   M6  Who is added holds all that is published before it is proposed; who is dropped is waited for until
 *       that is accepted.
 *   C1  Before a client READs data on a connection it has seen the primary's oath there, of its epoch.
 *   C2  Beside the data, in no order, a GET READs the oaths of all members, and all are of its epoch.
 *
 * Properties: no two primaries publish different writes at one place of the history; a GET returns no less
 * of the history than was acknowledged, or returned by another GET, before it began.
 *
 * Scope. Three servers, of which two or three are in sync at first; one more may join, and one may
 * lose its memory. One key, writes one after the other, one client that reads with any configuration
 * there has been. Each of a server's steps may be the last for as long as you like: a server that is
 * stopped or cut off is one that makes none, and its memory answers READs all the same.
 *
 * Abstraction. The log of a server is the table, too, up to what it has published. An APPEND and its
 * ACK are one step: one that is late or lost is one that its sender makes no use of. A compare-and-set
 * is sent, takes effect at any time, and is heard of at any time. What a GET READs, it READs in any
 * order, one word after the other. The history has one place, with -DPLACES=2 two.
 *
 *   switch CLEARED_LATE        M1: who proposes a configuration clears the oath when it is accepted
 *   switch READ_BACK           M1: a proposal of unknown outcome is looked up, not killed
 *   switch ANY_EPOCH           M2: an APPEND of another epoch is accepted
 *   switch PUBLISHED_EARLY     M3: a write is published before all members hold it
 *   switch DROPPED_WITHOUT_CAS M3: the primary goes on without a member of the configuration
 *   switch OATH_BEFORE_TAIL    M4: a new primary shows its oath before its tail is published
 *   switch TAIL_DROPPED        M4: a new primary forgets what it does not know to be published
 *   switch TAILS_KEPT          M4: the others keep their tails under a new primary
 *   switch LOST_TRUSTED        M5: a server that has lost its memory is taken for the old one
 *   switch JOINER_NOT_NEEDED   M6: a server is added that need not hold what is published
 *   switch DROPPED_NOT_NEEDED  M6: one that is being dropped is not waited for, nor the outcome
 *   switch NO_FIRST_LOOK       C1: data is READ before the primary's oath was seen once
 *   switch PRIMARYS_OATH_ONLY  C2: the oath of the primary alone is READ
 *   switch OTHERS_OATHS_ONLY   C2: the oaths of the others alone are READ
 */
#define SERVERS 3
#define ALL 7
#define EPOCHS 3
#define WRITES 2
#ifndef PLACES
#define PLACES 1 /* in the history */
#endif

/* ---- the register of configurations ---- */

byte epoch = 1;
byte primary[EPOCHS + 1];
byte members[EPOCHS + 1]; /* a bit for each server */

/* ---- servers ---- */

#define NONE 0
#define SENT 1     /* takes effect, or does not any more */
#define ACCEPTED 2 /* it has not heard of it */
#define REFUSED 3

typedef Server {
  unsigned since : 2;  /* the first epoch whose configuration names this memory; 0: none does */
  unsigned holds : 2;  /* the epoch that it is in */
  unsigned oath : 2;   /* the epoch that its oath says; 0: none */
  bool leads;          /* is the primary of that epoch, as far as it knows */
  bool serves;         /* and has published all that it began with */
  unsigned length : 2; /* of its log */
  byte log[PLACES];
  unsigned published : 2; /* so many of it */
  byte held[SERVERS];     /* of a primary: how much the others have acknowledged */
  unsigned joining : 3;   /* of a primary: the bit of whom it adds */
  unsigned without : 3;   /* DROPPED_WITHOUT_CAS: who is not waited for */
  unsigned proposal : 2;
  unsigned proposed : 3; /* the members; the primary is who proposes */
  unsigned former : 2;   /* the oath before that */
};
Server s[SERVERS];
byte writes; /* that have begun */
bool lost;   /* one server has lost its memory */

/* ---- what has happened ---- */

byte history[PLACES]; /* the writes that were published, in order */
byte known;           /* so many of them were acknowledged or returned */

byte i, j; /* 0 but within a step */

#define BIT(m) (1 << (m))
#define IS_IN(m, mask) (((mask) >> (m)) & 1)
#define IS_MEMBER(m, e) (IS_IN(m, members[e]) && s[m].since != 0 && s[m].since <= (e))

inline SetHistory(holder, at) {
  assert(history[at] == 0 || history[at] == s[holder].log[at]);
  history[at] = s[holder].log[at]
}

/* The primary's APPENDs tell how far it has published. */
inline Apply(pr, to) {
  if
  :: s[to].published < s[pr].published && s[to].published < s[to].length ->
    SetHistory(to, s[to].published);
    s[to].published++
  :: else
  fi
}

/* The log, and nothing behind it. */
inline CopyLog(pr, to) {
  i = 0;
  do
  :: i < PLACES -> s[to].log[i] = s[pr].log[i]; i++
  :: else -> break
  od;
  i = 0;
  s[to].length = s[pr].length
}

inline Forget(of_it) { s[of_it].length--; s[of_it].log[s[of_it].length] = 0 }

inline EndProposal(of_it) { s[of_it].proposal = NONE; s[of_it].proposed = 0; s[of_it].former = 0 }

inline BeNoPrimary(who) {
  s[who].leads = false; s[who].serves = false; s[who].joining = 0; s[who].without = 0;
  EndProposal(who);
  s[who].held[0] = 0; s[who].held[1] = 0; s[who].held[2] = 0
}

/* ---- the stream ---- */

#ifdef ANY_EPOCH
#define ACCEPTS(from, m) (!s[m].leads)
#else
#define ACCEPTS(from, m) (s[m].oath == s[from].holds || (s[from].joining == BIT(m) && s[m].holds == s[from].holds))
#endif

/* Who is asked to hold a write before it is published. */
#ifdef JOINER_NOT_NEEDED
#define JOINER(m) 0
#else
#define JOINER(m) s[m].joining
#endif
#ifdef DROPPED_NOT_NEEDED
#define NEEDED(m) (s[m].proposal == SENT || s[m].proposal == ACCEPTED -> s[m].proposed : members[s[m].holds])
#else
#define NEEDED(m) ((members[s[m].holds] | JOINER(m)) & ~s[m].without)
#endif

#ifdef PUBLISHED_EARLY
#define HOLDS_NEXT(k, m) true
#else
#define HOLDS_NEXT(k, m) (!IS_IN(k, NEEDED(m)) || k == m || s[m].held[k] > s[m].published)
#endif

inline Write(m) {
  writes++;
  s[m].log[s[m].length] = writes;
  s[m].length++
}

inline Append(m, k) {
  s[k].log[s[k].length] = s[m].log[s[k].length];
  s[k].length++;
  s[m].held[k] = s[k].length;
  Apply(m, k)
}

/* The first APPEND of an epoch. */
inline Follow(m, k) {
  BeNoPrimary(k);
  s[k].holds = s[m].holds;
  s[k].oath = s[m].holds;
#ifdef TAILS_KEPT
  if
  :: s[k].length < s[m].length -> CopyLog(m, k)
  :: else
  fi;
#else
  CopyLog(m, k);
#endif
  s[m].held[k] = s[m].length
}

inline Publish(m) {
  SetHistory(m, s[m].published);
  s[m].published++
}

/* ---- configurations ---- */

inline Propose(m, who) {
  s[m].former = s[m].oath;
#ifndef CLEARED_LATE
  s[m].oath = 0;
#endif
  s[m].proposed = who;
  s[m].proposal = SENT
}

/* The register's revision moves on: what else was sent is late. */
inline RefuseOthers() {
  j = 0;
  do
  :: j < SERVERS ->
    if
    :: s[j].proposal == SENT -> s[j].proposal = REFUSED
    :: else
    fi;
    j++
  :: else -> break
  od;
  j = 0
}

inline Accept(m) {
  s[m].proposal = ACCEPTED;
  RefuseOthers();
  epoch++;
  primary[epoch] = m;
  members[epoch] = s[m].proposed;
  do
  :: j < SERVERS ->
    if
    :: IS_IN(j, s[m].proposed & ~members[epoch - 1]) && s[j].since == 0 && s[j].holds == s[m].holds -> s[j].since = epoch
    :: else
    fi;
    j++
  :: else -> break
  od;
  j = 0
}

inline HearOfAccepted(m) {
  s[m].holds++;
  EndProposal(m);
  s[m].joining = 0;
  if
  :: s[m].leads -> s[m].oath = (s[m].serves -> s[m].holds : 0)
  :: else ->
    s[m].leads = true;
    s[m].oath = 0;
#ifdef TAIL_DROPPED
    do
    :: s[m].length > s[m].published -> Forget(m)
    :: else -> break
    od;
#endif
#ifdef OATH_BEFORE_TAIL
    s[m].oath = s[m].holds;
#endif
  fi
}

/* A member reads the next configuration. Under another primary it waits for that one's log. */
inline LookUp(m) {
  BeNoPrimary(m);
  s[m].holds++;
  if
  :: primary[s[m].holds] == primary[s[m].holds - 1] && s[m].oath == s[m].holds - 1 -> s[m].oath++
  :: else -> s[m].oath = 0
  fi
}

inline HearOfRefused(m) {
  s[m].oath = s[m].former;
  s[m].joining = 0;
  EndProposal(m)
}

/* A new region: nobody READs the old one. */
inline Join(m, k) {
  BeNoPrimary(k);
  s[k].since = 0; s[k].oath = 0;
  s[k].holds = s[m].holds;
  CopyLog(m, k);
  s[k].published = s[m].published;
  s[m].held[k] = s[k].length;
  s[m].joining = BIT(k)
}

inline LoseMemory(m) {
  lost = true;
  BeNoPrimary(m);
  do
  :: s[m].length > 0 -> Forget(m)
  :: else -> break
  od;
  s[m].published = 0;
#ifdef LOST_TRUSTED
  s[m].oath = s[m].holds;
#else
  s[m].since = 0; s[m].oath = 0; s[m].holds = 0;
#endif
  j = 0;
  do
  :: j < SERVERS ->
    if :: s[j].joining == BIT(m) && s[j].proposal == NONE -> s[j].joining = 0 :: else fi; /* its ACKs were of another life */
    j++
  :: else -> break
  od;
  j = 0
}

#define IS_IDLE(m) (s[m].proposal == NONE && epoch == s[m].holds && epoch < EPOCHS)
#define IS_BACKUP(m) (!s[m].leads && s[m].holds != 0 && IS_MEMBER(m, s[m].holds))
#define MAY_CHANGE(m) (s[m].leads && s[m].serves && IS_IDLE(m))

/* What a server does by itself. */
proctype Run(byte m) {
end:
  do
  :: d_step { s[m].serves && writes < WRITES && s[m].length < PLACES -> Write(m) }
  :: d_step { s[m].leads && s[m].published < s[m].length &&
      HOLDS_NEXT(0, m) && HOLDS_NEXT(1, m) && HOLDS_NEXT(2, m) -> Publish(m) }
  :: d_step { s[m].serves && s[m].published > known -> known = s[m].published } /* it replies */
  :: d_step { s[m].leads && !s[m].serves && s[m].published == s[m].length ->
      s[m].serves = true; s[m].oath = s[m].holds }
  /* It takes over, with any of the members. */
  :: d_step { IS_BACKUP(m) && IS_IDLE(m) -> Propose(m, BIT(m)) }
  :: d_step { IS_BACKUP(m) && IS_IDLE(m) -> Propose(m, members[epoch] & ~BIT(primary[epoch])) }
  :: d_step { IS_BACKUP(m) && IS_IDLE(m) -> Propose(m, members[epoch]) }
  :: d_step { MAY_CHANGE(m) && s[m].joining != 0 -> Propose(m, members[epoch] | s[m].joining) }
  /* The register. */
  :: d_step { s[m].proposal == SENT && epoch == s[m].holds && epoch < EPOCHS -> Accept(m) }
  :: d_step { s[m].proposal == ACCEPTED && IS_MEMBER(m, s[m].holds + 1) -> HearOfAccepted(m) }
  :: d_step { s[m].proposal == REFUSED -> HearOfRefused(m) }
  :: d_step { epoch > s[m].holds && primary[s[m].holds + 1] != m && IS_MEMBER(m, s[m].holds + 1) -> LookUp(m) }
#ifdef READ_BACK
  :: d_step { s[m].proposal == SENT && epoch == s[m].holds -> s[m].oath = s[m].former }
#else
  :: d_step { s[m].proposal == SENT && epoch == s[m].holds -> RefuseOthers() } /* it is killed */
#endif
  :: d_step { !lost && s[m].holds != 0 -> LoseMemory(m) }
  od
}

#define FOLLOWS_NOT_YET(m, k) (s[k].holds < s[m].holds || (s[k].holds == s[m].holds && s[k].oath == 0 && s[k].proposal == NONE))

/* What primary m does with server k. */
proctype Stream(byte m, k) {
end:
  do
  :: d_step { s[m].leads && (IS_IN(k, members[s[m].holds]) || s[m].joining == BIT(k)) &&
      ACCEPTS(m, k) && s[k].length < s[m].length -> Append(m, k) }
  :: d_step { s[m].leads && s[k].holds == s[m].holds && s[k].length <= s[m].length &&
      s[k].published < s[k].length && s[k].published < s[m].published -> Apply(m, k) }
  :: d_step { s[m].leads && FOLLOWS_NOT_YET(m, k) && IS_MEMBER(k, s[m].holds) -> Follow(m, k) }
  :: d_step { MAY_CHANGE(m) && !IS_MEMBER(k, epoch) && s[m].joining == 0 && !IS_IN(k, members[epoch]) -> Join(m, k) }
  :: d_step { s[m].leads && IS_IDLE(m) && IS_IN(k, members[epoch]) -> Propose(m, members[epoch] & ~BIT(k)) }
#ifdef DROPPED_WITHOUT_CAS
  :: d_step { MAY_CHANGE(m) && IS_IN(k, members[epoch]) -> s[m].without = BIT(k) }
#endif
  od
}

/* ---- the client ---- */

#ifdef PRIMARYS_OATH_ONLY
#define OATHS(e) BIT(primary[e])
#else
#ifdef OTHERS_OATHS_ONLY
#define OATHS(e) (members[e] & ~BIT(primary[e]))
#else
#define OATHS(e) members[e]
#endif
#endif

byte with;        /* the epoch of its configuration; 0: no GET is under way */
byte looked;      /* the epoch whose primary's oath it has seen on its connection to that */
byte oaths;       /* not READ yet */
byte at_least;    /* what was known when the GET began; 0: the data is READ, and it was less */

inline EndGet() { with = 0; oaths = 0; at_least = 0 }

#define SHOWS(m) (IS_MEMBER(m, with) && s[m].oath == with)

proctype Read(byte m) {
end:
  do
  :: d_step { s[m].oath != 0 && looked != s[m].oath && m == primary[s[m].oath] && IS_MEMBER(m, s[m].oath) ->
      looked = s[m].oath }
  :: d_step { with != 0 && looked == with && IS_IN(m, oaths) && SHOWS(m) -> oaths = oaths & ~BIT(m) }
  :: d_step { with != 0 && looked == with && m == primary[with] && at_least != 0 && IS_MEMBER(m, with) ->
      if
      :: s[m].published >= at_least -> EndGet() /* whatever it returns */
      :: else -> at_least = 0
      fi }
  od
}

inline BeginGet() {
  at_least = known;
  oaths = OATHS(with);
#ifdef NO_FIRST_LOOK
  looked = with;
#endif
}

proctype Get() {
end:
  do
  :: d_step { with == 0 && known > 0 -> with = 1; BeginGet() }
  :: d_step { with == 0 && known > 0 && epoch >= 2 -> with = 2; BeginGet() }
  :: d_step { with == 0 && known > 0 && epoch >= 3 -> with = 3; BeginGet() }
  :: d_step { with != 0 && at_least == 0 -> assert(oaths != 0) }
  :: d_step { with != 0 -> EndGet() } /* a READ fails, or an oath is another */
  od
}

init {
  d_step {
    primary[1] = 0;
    j = 0;
    do
    :: j < SERVERS -> s[j].since = 1; s[j].holds = 1; s[j].oath = 1; j++
    :: else -> break
    od;
    j = 0;
    s[0].leads = true; s[0].serves = true
  }
  if
  :: members[1] = ALL
  :: d_step { true -> members[1] = 3; s[2].since = 0; s[2].holds = 0; s[2].oath = 0 }
  fi;
  atomic {
    run Run(0); run Run(1); run Run(2);
    run Stream(0, 1); run Stream(0, 2); run Stream(1, 0); run Stream(1, 2); run Stream(2, 0); run Stream(2, 1);
    run Read(0); run Read(1); run Read(2);
    run Get()
  }
}
