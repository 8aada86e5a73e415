------------------------------- MODULE Votes -------------------------------
\* Votes that are answered before they are durable: what a voter that crashed must count as said, and for how long.
\* README.md beside this file says how to read it, and what is left out.
EXTENDS Naturals, FiniteSets

CONSTANTS
  Voters,      \* all members vote
  First,       \* who led epoch 1, and leads it at first with a majority of supporters
  Supporters,  \* who is bound to it, and counted by it
  Candidates,  \* who asks for later epochs
  Mortal,      \* who may crash, and stop
  MaxEpoch,    \* bounds of the search: epochs, crashes and stops of all together
  MaxRestarts,
  Reserve,     \* the reserve of epochs of each voter at first
  Longer,      \* the members that ask for longer promises than the records of these voters know at first
  Unaware,
  Lists,       \* whether leaders change the member list
  Wrong        \* the planted mistake, or "none"

VARIABLES
  voted,    \* the greatest epoch in which each voter voted, or took a heartbeat, and for whom
  bound,    \* to whom a promise of the voter runs
  have,     \* the epoch of the member list that the voter has; durable before it says so
  record,   \* what the disk has of voted
  long,     \* whether the record knows of longer promises
  reserve,  \* up to which epoch the record reserves
  floor,    \* up to which epoch the voter may have voted and not know it; durable
  mute,     \* for how long it waits after a restart: 0, 1, or 2 for longer promises
  unsure,   \* whether the life before crashed, while it waits
  old,      \* the members that count on a promise of the life before
  asked,    \* messages: all requests for votes, which may come at any later time
  asks,     \* the epoch in which a member is a candidate; 0 if it is none
  leads,    \* the epoch in which a member leads; 0 if it does not
  led,      \* who came to lead each epoch; its heartbeats and lists may come at any later time
  counts,   \* counts[m][v]: whether candidate or leader m counts on voter v
  listed,   \* listed[m]: which voters have stored the list of leader m
  made, done, \* the epochs of the lists that leaders made; the last one that a majority had stored
  restarts

disk == <<record, long, reserve>>
waits == <<mute, unsure, old>>
vars == <<voted, bound, have, disk, floor, waits, asked, asks, leads, led, counts, listed, made, done, restarts>>

Nobody == 0
Twice == 99
Max(a, b) == IF a > b THEN a ELSE b
Vote(e, m) == [epoch |-> e, for |-> m]
IsMajority(set) == 2 * Cardinality(set) > Cardinality(Voters)
Counted(m, c) == {v \in Voters : c[m][v]}
None == [v \in Voters |-> FALSE]

Init ==
  /\ voted = [v \in Voters |-> Vote(1, First)] \* all know it, and have written it
  /\ bound = [v \in Voters |-> IF v \in Supporters THEN {First} ELSE {}]
  /\ have = [v \in Voters |-> 0]
  /\ record = voted /\ long = [v \in Voters |-> v \notin Unaware]
  /\ reserve = [v \in Voters |-> Reserve] /\ floor = [v \in Voters |-> 0]
  /\ mute = [v \in Voters |-> 0] /\ unsure = None /\ old = [v \in Voters |-> {}]
  /\ asked = {} /\ asks = [v \in Voters |-> 0]
  /\ leads = [v \in Voters |-> IF v = First /\ IsMajority(Supporters) THEN 1 ELSE 0]
  /\ led = [e \in 1..MaxEpoch |-> IF e = 1 THEN First ELSE Nobody]
  /\ counts = [m \in Voters |-> [v \in Voters |-> m = First /\ v \in Supporters]]
  /\ listed = [v \in Voters |-> {}] /\ made = {} /\ done = 0
  /\ restarts = 0

\* A candidate may ask in the same epoch once more: answers to the earlier request count no longer. Nobody asks for an
\* epoch that it has led.
Ask(m, e) ==
  /\ leads[m] = 0 /\ e >= asks[m] /\ e > floor[m]
  /\ e > voted[m].epoch \/ voted[m] = Vote(e, m)
  /\ led[e] # m
  /\ asked' = asked \cup {Vote(e, m)} /\ asks' = [asks EXCEPT ![m] = e]
  /\ counts' = [counts EXCEPT ![m] = None]
  /\ UNCHANGED <<voted, bound, have, disk, floor, waits, leads, led, listed, made, done, restarts>>

\* Whether v may vote for r.for in epoch r.epoch, the list of which it takes for that of the request.
MayVote(v, r) ==
  /\ r.epoch > voted[v].epoch \/ voted[v] = r
  /\ r.epoch > floor[v] \/ Wrong = "floor"
  /\ mute[v] = 0 \/ Wrong = "mute"
  /\ bound[v] \subseteq {r.for}
  /\ have[v] <= have[r.for] /\ r.epoch > have[v]
  /\ r.for \in Longer => long[v] \/ Wrong = "length"

\* Where the reserve covers the epoch the voter answers at once, else after its disk has the vote.
GiveVote(v, r) ==
  /\ MayVote(v, r)
  /\ voted' = [voted EXCEPT ![v] = r] /\ bound' = [bound EXCEPT ![v] = {r.for}]
  /\ record' = IF r.epoch <= reserve[v] \/ Wrong = "reserve" THEN record ELSE [record EXCEPT ![v] = r]
  /\ counts' = IF asks[r.for] = r.epoch THEN [counts EXCEPT ![r.for][v] = TRUE] ELSE counts
  /\ old' = [old EXCEPT ![v] = @ \ {r.for}]
  /\ UNCHANGED <<have, long, reserve, floor, mute, unsure, asked, asks, leads, led, listed, made, done, restarts>>

Become(m) ==
  /\ asks[m] > 0 /\ IsMajority(Counted(m, counts))
  /\ leads' = [leads EXCEPT ![m] = asks[m]] /\ asks' = [asks EXCEPT ![m] = 0]
  /\ led' = [led EXCEPT ![asks[m]] = IF @ = Nobody THEN m ELSE Twice]
  /\ listed' = [listed EXCEPT ![m] = {}]
  /\ UNCHANGED <<voted, bound, have, disk, floor, waits, asked, counts, made, done, restarts>>

\* Whether v heeds the leader of epoch e at all. In an epoch that it may have forgotten it does so only after the wait.
Heeds(v, e) ==
  /\ led[e] \in Voters /\ e >= voted[v].epoch
  /\ \/ ~unsure[v] \/ e > floor[v] \/ Wrong = "silent"
     \/ Wrong = "named" /\ voted[v] = Vote(e, led[e])

\* A heartbeat of whoever led epoch e: it counts if that leads still.
Acknowledge(v, e) ==
  /\ Heeds(v, e)
  /\ led[e] \in Longer => long[v] \/ Wrong = "length"
  /\ voted' = [voted EXCEPT ![v] = Vote(e, led[e])] /\ bound' = [bound EXCEPT ![v] = @ \cup {led[e]}]
  /\ counts' = IF leads[led[e]] = e THEN [counts EXCEPT ![led[e]][v] = TRUE] ELSE counts
  /\ old' = [old EXCEPT ![v] = @ \ {led[e]}]
  /\ UNCHANGED <<have, disk, floor, mute, unsure, asked, asks, leads, led, listed, made, done, restarts>>

\* These cease to count on v; without a majority a leadership ends.
Cease(v, members) ==
  LET left(m) == [counts[m] EXCEPT ![v] = FALSE]
      ends(m) == leads[m] > 0 /\ ~IsMajority({w \in Voters : left(m)[w]})
  IN /\ counts' = [m \in Voters |-> IF m \notin members THEN counts[m] ELSE IF ends(m) THEN None ELSE left(m)]
     /\ leads' = [m \in Voters |-> IF m \in members /\ ends(m) THEN 0 ELSE leads[m]]

\* A promise ends at any time, and no earlier than its receiver ceases to count on it. To do that sooner than it needs to
\* makes nothing possible.
PromiseEnds(v, m) ==
  /\ m \in bound[v] /\ bound' = [bound EXCEPT ![v] = @ \ {m}]
  /\ Cease(v, {m})
  /\ UNCHANGED <<voted, have, disk, floor, waits, asked, asks, led, listed, made, done, restarts>>

\* So does the wait, for promises as long as the record knew.
WaitEnds(v) ==
  /\ mute[v] > 0
  /\ LET over == {m \in old[v] : m \notin Longer \/ mute[v] = 2} IN
     /\ Cease(v, over) /\ old' = [old EXCEPT ![v] = @ \ over]
  /\ mute' = [mute EXCEPT ![v] = 0] /\ unsure' = [unsure EXCEPT ![v] = FALSE]
  /\ UNCHANGED <<voted, bound, have, disk, floor, asked, asks, led, listed, made, done, restarts>>

\* The disk has all that the voter knows.
Write(v) ==
  /\ v \in Mortal /\ (record[v] # voted[v] \/ ~long[v])
  /\ record' = [record EXCEPT ![v] = voted[v]] /\ long' = [long EXCEPT ![v] = TRUE]
  /\ UNCHANGED <<voted, bound, have, reserve, floor, waits, asked, asks, leads, led, counts, listed, made, done, restarts>>

\* The process ends, and starts again with this record.
Restart(v, left, up, forgot) ==
  /\ restarts < MaxRestarts /\ restarts' = restarts + 1
  /\ voted' = [voted EXCEPT ![v] = left] /\ record' = [record EXCEPT ![v] = left]
  /\ bound' = [bound EXCEPT ![v] = {}]
  /\ floor' = [floor EXCEPT ![v] = up]
  /\ unsure' = [unsure EXCEPT ![v] = forgot] /\ mute' = [mute EXCEPT ![v] = IF long[v] THEN 2 ELSE 1]
  /\ old' = [old EXCEPT ![v] = {m \in Voters \ {v} : counts[m][v]}]
  /\ asks' = [asks EXCEPT ![v] = 0] /\ leads' = [leads EXCEPT ![v] = 0]
  /\ counts' = [counts EXCEPT ![v] = None] /\ listed' = [listed EXCEPT ![v] = {}]
  /\ reserve' = [reserve EXCEPT ![v] = Max(@, up + Reserve)]
  /\ UNCHANGED <<have, long, asked, led, made, done>>

Crash(v) == Restart(v, record[v], Max(reserve[v], record[v].epoch), TRUE)
\* An orderly stop writes the record whole, but what the life before forgot it does not know while it waits.
Stop(v) == Restart(v, IF Wrong = "stop" THEN record[v] ELSE voted[v], floor[v], unsure[v] /\ Wrong # "again")

\* A leader gives its list the number of its epoch, and so confirms or changes it.
Make(m) ==
  /\ Lists /\ leads[m] > have[m]
  /\ have' = [have EXCEPT ![m] = leads[m]] /\ made' = made \cup {leads[m]}
  /\ listed' = [listed EXCEPT ![m] = {m}]
  /\ UNCHANGED <<voted, bound, disk, floor, waits, asked, asks, leads, led, counts, done, restarts>>

\* A follower takes the list of its leader, and says so once it is durable, with all that it knows.
Take(v, e) ==
  /\ e \in made /\ have[v] < e /\ v # led[e]
  /\ Heeds(v, e) \/ (Wrong = "list" /\ e >= voted[v].epoch)
  /\ voted' = [voted EXCEPT ![v] = Vote(e, led[e])] /\ have' = [have EXCEPT ![v] = e]
  /\ record' = [record EXCEPT ![v] = Vote(e, led[e])]
  /\ listed' = IF leads[led[e]] = e THEN [listed EXCEPT ![led[e]] = @ \cup {v}] ELSE listed
  /\ UNCHANGED <<bound, long, reserve, floor, waits, asked, asks, leads, led, counts, made, done, restarts>>

Done(m) ==
  /\ leads[m] > done /\ leads[m] = have[m] /\ IsMajority(listed[m]) /\ done' = leads[m]
  /\ UNCHANGED <<voted, bound, have, disk, floor, waits, asked, asks, leads, led, counts, listed, made, restarts>>

Next ==
  \/ \E m \in Candidates : \E e \in 2..MaxEpoch : Ask(m, e)
  \/ \E v \in Voters : \/ \E r \in asked : GiveVote(v, r)
                       \/ \E e \in 1..MaxEpoch : Acknowledge(v, e) \/ Take(v, e)
                       \/ \E m \in Voters : PromiseEnds(v, m)
                       \/ Become(v) \/ WaitEnds(v) \/ Write(v) \/ Make(v) \/ Done(v)
  \/ \E v \in Mortal : Crash(v) \/ Stop(v)

Spec == Init /\ [][Next]_vars

Leaders == {m \in Voters : leads[m] > 0}
AtMostOneLeads == Cardinality(Leaders) <= 1
NoEpochTwice == \A e \in 1..MaxEpoch : led[e] # Twice
\* Whoever leads a later epoch has what was done before.
NothingLost == \A m \in Leaders : leads[m] > done => have[m] >= done
=============================================================================
