------------------------------- MODULE Locks -------------------------------
\* Who holds a lock: the table that the elected leader changes with a majority, and the support between members.
\* README.md beside this file says how to read it, what is left out, and which schedule shows each planted mistake.
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
  Members,   \* those that may hold the lock
  Owner,     \* the member that holds it at first
  Nobody,
  Voters,    \* all that ever vote
  First,     \* those that vote at first
  Lists,     \* the lists of voters that there may be
  MaxEpoch, MaxNumber, MaxIncarnation, MaxList, \* bounds of the search
  May,       \* what may happen beside takings: "other", "withdraw", "release", "die", "restart", "lose", "forget"
  Wrong      \* the planted mistake, or "none"

VARIABLES
  table,    \* the table that each voter has stored; durable
  epoch,    \* the greatest epoch that each voter knows; durable
  list,     \* the list of voters that each voter has; durable
  promise,  \* promise[v][m]: the answer of voter v that member m counts longest
  forgot,   \* whether a voter has started again since it made its promises
  leaders,  \* leaders[e]: what the leader of epoch e knows
  offers, stored, listed, \* messages: tables, and who has stored which table and which list
  done,     \* the tables that their leader found to be stored by a majority
  known,    \* the done table that each member acts on
  inc,      \* the incarnation of each member
  life,     \* of each member: "up", "job" (its process has ended, its job has not) or "dead"
  gave,     \* the last token that each member released
  releases, certs, \* messages, which may come again at any later time
  top       \* the greatest token that any member acted under

disks == <<table, epoch, list>>
promises == <<promise, forgot>>
reports == <<stored, listed>>
members == <<known, inc, life, gave, releases, certs>>
vars == <<disks, promises, leaders, offers, reports, done, members, top>>

\* A version is an epoch and a number that goes on over epochs: 203 is number 3, stamped in epoch 2.
Version(e, n) == 100 * e + n
Epoch(at) == at \div 100
Number(at) == at % 100
Missing == 9999 \* a note that is not there counts as taken now
None == [note |-> Missing, voters |-> {}]

EmptyTable == [at |-> 0, holder |-> Nobody, inc |-> 0, token |-> 0, note |-> [m \in Members |-> 0]]
FirstTable == [EmptyTable EXCEPT !.at = 1, !.holder = Owner, !.inc = 1, !.token = 1]
Note(t, m) == IF Wrong = "forget" /\ t.note[m] = Missing THEN 0 ELSE t.note[m]
Newest(set) == CHOOSE x \in set : \A y \in set : y.at <= x.at
IsMajority(set, of) == 2 * Cardinality(set \cap of) > Cardinality(of)
Runs(v, m) == promise[v][m] # None
HasTable(v) == table[v].at > 0
\* What a voter answers the members: its note for each, and its list. Without a table it supports nobody.
Answers(t, l) == [m \in Members |->
  IF t.at > 0 \/ Wrong = "empty" THEN [note |-> Note(t, m), voters |-> l.voters] ELSE None]

\* A member acts under a done table that names it and this incarnation, and never again under a token that it released.
Holds(m) == known[m].holder = m /\ known[m].inc = inc[m] /\ (known[m].token > gave[m] \/ Wrong = "again")
\* The trap: an answer counts only if the member's done table is not below the voter's note for it.
Counts(v, m) == Runs(v, m) /\ (promise[v][m].note <= known[m].at \/ Wrong = "trap")
\* It counts a majority of a list only by answers that name this list.
Supported(m) == \E l \in Lists : IsMajority({v \in l : Counts(v, m) /\ promise[v][m].voters = l}, l)
Acts(m) == life[m] # "dead" /\ Holds(m) /\ Supported(m)

Init ==
  /\ table = [v \in Voters |-> IF v \in First THEN FirstTable ELSE EmptyTable]
  /\ epoch = [v \in Voters |-> 0]
  /\ list = [v \in Voters |-> [at |-> 0, voters |-> First]]
  /\ promise = [v \in Voters |-> Answers(table[v], list[v])] /\ forgot = [v \in Voters |-> FALSE]
  /\ leaders = <<>> /\ offers = {} /\ stored = {} /\ listed = {} /\ done = {}
  /\ known = [m \in Members |-> FirstTable] /\ inc = [m \in Members |-> 1] /\ life = [m \in Members |-> "up"]
  /\ gave = [m \in Members |-> 0] /\ releases = {} /\ certs = {} /\ top = 1

----------------------------------------------------------------------------
\* The leader

\* It adopts the newest table of a majority, whose voters store nothing of an earlier epoch any more.
Elect(Q) ==
  LET e == Len(leaders) + 1
      l == Newest({list[v] : v \in Q}) \* a voter votes for nobody with an older list than its own
  IN
  /\ e <= MaxEpoch /\ \A v \in Q : epoch[v] < e /\ (HasTable(v) \/ Q = l.voters \/ Wrong = "empty")
  /\ Q \subseteq l.voters /\ IsMajority(Q, l.voters)
  \* More voters would only be bound, unless one of them has no table.
  /\ 2 * Cardinality(Q) <= Cardinality(l.voters) + 2 \/ \E v \in Q : ~HasTable(v)
  /\ \E t \in {table[v] : v \in Q} :
       /\ t = Newest({table[v] : v \in Q}) \/ Wrong = "adopt"
       /\ leaders' = Append(leaders, [base |-> t, last |-> t, list |-> [l EXCEPT !.at = Version(e, Number(@))],
                                      settled |-> FALSE, waits |-> {}])
  /\ epoch' = [v \in Voters |-> IF v \in Q /\ HasTable(v) THEN e ELSE epoch[v]]
  /\ UNCHANGED <<table, list, promises, offers, reports, done, members>>

NextAt(e) == Version(e, Number(leaders[e].last.at) + 1)

Offer(e, t) ==
  /\ Number(t.at) <= MaxNumber
  /\ leaders' = [leaders EXCEPT ![e].last = t] /\ offers' = offers \cup {t}
  /\ UNCHANGED <<disks, promises, reports, done, members>>

Stamp(e) == Epoch(leaders[e].last.at) < e /\ Offer(e, [leaders[e].last EXCEPT !.at = NextAt(e)])

\* What a member released, or what an incarnation held that is certified dead, is not taken from it.
\* A release names the token, and a certificate the incarnation.
IsFree(t) ==
  \/ t.holder = Nobody
  \/ \E r \in releases : r.by = t.holder /\ (r.token = t.token \/ Wrong = "token")
  \/ \E c \in certs : c.of = t.holder /\ (c.inc = t.inc \/ Wrong = "incarnation")

\* The token of a taking is its number. The note says when something was last taken from a member.
Give(e, m) ==
  LET t == leaders[e].last
      at == NextAt(e)
  IN
  /\ m # t.holder \/ IsFree(t)
  /\ Offer(e, [at |-> at, holder |-> m, inc |-> inc[m], token |-> Number(at),
               note |-> [k \in Members |->
                  IF (k = t.holder /\ ~IsFree(t)) \/ (k = m /\ t.note[k] = Missing) THEN at ELSE t.note[k]]])

\* Another name is taken from a member: all of that which this lock knows is the note.
TakeOther(e, m) ==
  /\ "other" \in May
  /\ Offer(e, [leaders[e].last EXCEPT !.at = NextAt(e), !.note[m] = NextAt(e)])

\* If a voter answers "wait", a later version without that change goes on.
Withdraw(e) ==
  /\ "withdraw" \in May /\ Epoch(leaders[e].last.at) = e /\ leaders[e].last # leaders[e].base
  /\ Offer(e, [leaders[e].base EXCEPT !.at = NextAt(e)])

\* The note of a member that holds nothing goes, as after its removal.
Forget(e, m) ==
  /\ "forget" \in May /\ leaders[e].last.holder # m /\ leaders[e].last.note[m] # Missing
  /\ Offer(e, [leaders[e].last EXCEPT !.at = NextAt(e), !.note[m] = Missing])

\* A change is done when a majority has stored it. Answers to a version that was withdrawn count no more.
Count(e, t) ==
  /\ Epoch(t.at) = e /\ t \notin done
  /\ t = leaders[e].last \/ Wrong = "withdrawn"
  /\ IsMajority({s.by : s \in {x \in stored : x.at = t.at}}, leaders[e].list.voters)
  /\ done' = done \cup {t}
  /\ leaders' = [leaders EXCEPT ![e].base = IF t = leaders[e].last THEN t ELSE @]
  /\ UNCHANGED <<disks, promises, offers, reports, members>>

\* The leader changes the list by one voter at a time, after the last one is done and the longest promise has passed
\* since. A new leader stamps the list first, and waits, too.
ChangeList(e, l) ==
  LET now == leaders[e].list IN
  /\ Cardinality(now.voters \ l) + Cardinality(l \ now.voters) = 1
  /\ leaders[e].settled /\ Number(now.at) < MaxList
  /\ leaders' = [leaders EXCEPT ![e].list = [at |-> now.at + 1, voters |-> l], ![e].settled = FALSE, ![e].waits = {}]
  /\ promise' = [v \in Voters |-> [m \in Members |->
       IF <<v, m>> \in leaders[e].waits /\ Wrong # "hurry" THEN Answers(table[v], list[v])[m] ELSE promise[v][m]]]
  /\ UNCHANGED <<disks, forgot, offers, reports, done, members>>

\* A list is done when a majority of it has stored it, and a table of this leader that is not below the last done one.
Settle(e) ==
  LET l == leaders[e].list IN
  /\ Lists # {First} /\ ~leaders[e].settled
  /\ IsMajority({s.by : s \in {x \in listed : x.at = l.at}}, l.voters)
  /\ \/ IsMajority({s.by : s \in {x \in stored : Epoch(x.at) = e /\ x.at >= leaders[e].base.at}}, l.voters)
     \/ Wrong = "list"
  /\ leaders' = [leaders EXCEPT ![e].settled = TRUE,
                                ![e].waits = {w \in Voters \X Members : Runs(w[1], w[2])}]
  /\ UNCHANGED <<disks, promises, offers, reports, done, members>>

----------------------------------------------------------------------------
\* The voters

\* The members that a voter supports and from which a table may take something: its note is above that of the voter's
\* own table. After a restart these may be all.
Forbid(v, t) == {m \in Members : Runs(v, m) /\
  CASE forgot[v]           -> Wrong # "restart"
    [] Wrong = "supported" -> FALSE
    [] Wrong = "own"       -> table[v].holder = m /\ t.holder # m
    [] Wrong = "version"   -> Note(t, m) > table[v].at
    [] OTHER               -> Note(t, m) > Note(table[v], m)}

\* A voter waits for the end of the promises that forbid it to store a table. All others run on, renewed for ever, and
\* the member counts them until their last instant: whatever ends earlier only makes fewer members act.
Store(v, t) ==
  LET answer == Answers(t, list[v]) IN
  /\ t.at > table[v].at /\ Epoch(t.at) >= epoch[v]
  /\ HasTable(v) \/ Epoch(t.at) > epoch[v] \/ Wrong = "late"
  /\ promise' = [promise EXCEPT ![v] = [m \in Members |->
       IF Runs(v, m) /\ m \notin Forbid(v, t) /\ @[m].note <= answer[m].note THEN @[m] ELSE answer[m]]]
  /\ forgot' = [forgot EXCEPT ![v] = @ /\ Wrong = "restart"]
  /\ table' = [table EXCEPT ![v] = t] /\ epoch' = [epoch EXCEPT ![v] = Epoch(t.at)]
  /\ stored' = stored \cup {[at |-> t.at, by |-> v]}
  /\ UNCHANGED <<list, leaders, offers, listed, done, members>>

StoreList(v, e) ==
  LET l == leaders[e].list IN
  /\ Lists # {First} /\ l.at > list[v].at /\ e >= epoch[v]
  /\ list' = [list EXCEPT ![v] = l] /\ epoch' = [epoch EXCEPT ![v] = e]
  /\ listed' = listed \cup {[at |-> l.at, by |-> v]}
  /\ UNCHANGED <<table, promises, leaders, offers, stored, done, members>>

\* With its next answer a voter names its new list.
Answer(v, m) ==
  /\ Runs(v, m) /\ promise[v][m].voters # list[v].voters /\ life[m] = "up"
  /\ promise' = [promise EXCEPT ![v][m] = Answers(table[v], list[v])[m]]
  /\ leaders' = [e \in DOMAIN leaders |-> [leaders[e] EXCEPT !.waits = @ \ {<<v, m>>}]]
  /\ UNCHANGED <<disks, forgot, offers, reports, done, members>>

RestartVoter(v) ==
  /\ "restart" \in May /\ ~forgot[v] /\ forgot' = [forgot EXCEPT ![v] = TRUE]
  /\ UNCHANGED <<disks, promise, leaders, offers, reports, done, members>>

\* A voter that lost its disk supports nobody, and counts in a read of all voters alone, until it has stored a table
\* again, and the first must be of a leader that was elected since. A majority has not lost its tables at once.
Lose(v) ==
  /\ "lose" \in May /\ HasTable(v) /\ IsMajority({w \in Voters \ {v} : HasTable(w)}, Voters)
  /\ table' = [table EXCEPT ![v] = EmptyTable] /\ epoch' = [epoch EXCEPT ![v] = Len(leaders)]
  /\ forgot' = [forgot EXCEPT ![v] = TRUE]
  /\ promise' = IF Wrong = "empty" THEN [promise EXCEPT ![v] = Answers(EmptyTable, list[v])] ELSE promise
  /\ UNCHANGED <<list, leaders, offers, reports, done, members>>

----------------------------------------------------------------------------
\* The members

\* A member acts on a done table alone.
Learn(m) ==
  /\ life[m] = "up"
  /\ \E t \in IF Wrong = "undone" THEN {table[v] : v \in Voters} ELSE done :
       t.at > known[m].at /\ known' = [known EXCEPT ![m] = t]
  /\ UNCHANGED <<disks, promises, leaders, offers, reports, done, inc, life, gave, releases, certs>>

\* It ends its job first.
Release(m) ==
  /\ "release" \in May /\ life[m] = "up" /\ Holds(m) /\ known[m].token > gave[m]
  /\ gave' = [gave EXCEPT ![m] = known[m].token]
  /\ releases' = releases \cup {[by |-> m, token |-> known[m].token]}
  /\ UNCHANGED <<disks, promises, leaders, offers, reports, done, known, inc, life, certs>>

\* The process ends, and its job runs on until its guard ends it: at the end of the lease, or before.
Die(m) ==
  /\ "die" \in May /\ inc[m] < MaxIncarnation
  /\ \/ life[m] = "up" /\ life' = [life EXCEPT ![m] = "job"]
     \/ life[m] = "job" /\ life' = [life EXCEPT ![m] = "dead"]
  /\ UNCHANGED <<disks, promises, leaders, offers, reports, done, known, inc, gave, releases, certs>>

\* The coroner certifies the death after the job's end.
Certify(m) ==
  /\ life[m] = "dead" \/ (Wrong = "early" /\ life[m] = "job")
  /\ certs' = certs \cup {[of |-> m, inc |-> inc[m]]} /\ certs' # certs
  /\ UNCHANGED <<disks, promises, leaders, offers, reports, done, known, inc, life, gave, releases>>

\* A start waits for the end of the last job, so it certifies the death of the last incarnation.
Start(m) ==
  /\ life[m] = "dead"
  /\ life' = [life EXCEPT ![m] = "up"] /\ inc' = [inc EXCEPT ![m] = @ + 1]
  /\ known' = [known EXCEPT ![m] = EmptyTable] /\ gave' = [gave EXCEPT ![m] = 0]
  /\ promise' = [v \in Voters |-> [promise[v] EXCEPT ![m] = Answers(table[v], list[v])[m]]]
  /\ certs' = certs \cup {[of |-> m, inc |-> inc[m]]}
  /\ UNCHANGED <<disks, forgot, leaders, offers, reports, done, releases>>

----------------------------------------------------------------------------
Step ==
  \/ \E Q \in SUBSET Voters \ {{}} : Elect(Q)
  \/ \E e \in DOMAIN leaders : \/ Stamp(e) \/ Withdraw(e) \/ Settle(e)
                               \/ \E m \in Members : Give(e, m) \/ TakeOther(e, m) \/ Forget(e, m)
                               \/ \E t \in offers : Count(e, t)
                               \/ \E l \in Lists : ChangeList(e, l)
                               \/ \E v \in Voters : StoreList(v, e)
  \/ \E v \in Voters : \/ \E t \in offers : Store(v, t)
                       \/ \E m \in Members : Answer(v, m)
                       \/ RestartVoter(v) \/ Lose(v)
  \/ \E m \in Members : Learn(m) \/ Release(m) \/ Die(m) \/ Certify(m) \/ Start(m)

Max(a, b) == IF a > b THEN a ELSE b
RECURSIVE Highest(_, _)
Highest(set, least) == IF set = {} THEN least ELSE LET x == CHOOSE x \in set : TRUE IN Highest(set \ {x}, Max(x, least))
Next == Step /\ top' = Highest({known'[m].token : m \in {k \in Members : Acts(k)'}}, top)
Spec == Init /\ [][Next]_vars

Alike == Permutations(First) \* for the checker, where the list does not change

AtMostOneActs == \A m, k \in Members : Acts(m) /\ Acts(k) => m = k
TokensGrow == \A m \in Members : Acts(m) => known[m].token >= top
=============================================================================
