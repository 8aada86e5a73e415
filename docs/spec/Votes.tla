------------------------------- MODULE Votes -------------------------------
\* Votes that are answered before they are durable: what a voter that crashed must count as said, and for how long.
\* README.md beside this file says how to read it, and what is left out.
EXTENDS Naturals, FiniteSets

CONSTANTS
  Voters,      \* all members vote
  First,       \* who led epoch 1, and leads it at first with a majority of supporters
  Supporters,  \* whom it counts on at first
  Candidates,  \* who asks for later epochs
  Mortal,      \* who may crash, and stop
  Losing,      \* who may lose its disk
  MaxEpoch,    \* bounds of the search: epochs, and how often voters start again, all together
  MaxRestarts,
  Reserve,     \* the reserve of epochs of each voter at first
  Longer,      \* the members that ask for longer promises than the records of these voters know at first
  Unaware,
  Lists,       \* who changes the member list when it leads
  Wrong        \* the planted mistake, or "none"

VARIABLES
  voted,    \* the greatest epoch in which each voter voted, or took a heartbeat, and for whom
  have,     \* the epoch of the member list that the voter has; durable before it says so
  record,   \* what the disk has of voted
  long,     \* whether the record knows of longer promises
  reserve,  \* up to which epoch the record reserves
  floor,    \* up to which epoch the voter may have voted and not know it; durable
  empty,    \* whether it found an empty disk, and no leader has told it its epoch since
  mute,     \* for how long it waits after a restart: 0, 1, or 2 for longer promises
  unsure,   \* whether the life before crashed, while it waits
  old,      \* the members that count on a promise of the life before
  asked,    \* messages: all requests for votes, which may come at any later time
  asks,     \* the epoch in which a member is a candidate; 0 if it is none
  leads,    \* the epoch in which a member leads; 0 if it does not
  led,      \* who came to lead each epoch; its heartbeats and lists may come at any later time
  counts,   \* counts[m]: on which voters candidate or leader m counts
  made, done, \* the epochs of the lists that leaders made; the last one that a majority had stored
  restarts

disk == <<record, long, reserve>>
waits == <<empty, floor, mute, unsure>>
members == <<asked, asks, led, made, done, restarts>>
vars == <<voted, have, disk, waits, old, leads, counts, members>>

Nobody == 0
Twice == 99
Max(a, b) == IF a > b THEN a ELSE b
Vote(e, m) == [epoch |-> e, for |-> m]
IsMajority(set) == 2 * Cardinality(set) > Cardinality(Voters)
Each(value) == [v \in Voters |-> value]

Init ==
  /\ voted = Each(Vote(1, First)) \* all know it, and have written it
  /\ have = Each(0)
  /\ record = voted /\ long = [v \in Voters |-> v \notin Unaware] /\ reserve = Each(Reserve)
  /\ floor = Each(0) /\ empty = Each(FALSE) /\ mute = Each(0) /\ unsure = Each(FALSE) /\ old = Each({})
  /\ asked = {} /\ asks = Each(0)
  /\ leads = [v \in Voters |-> IF v = First /\ IsMajority(Supporters) THEN 1 ELSE 0]
  /\ led = [e \in 1..MaxEpoch |-> IF e = 1 THEN First ELSE Nobody]
  /\ counts = [m \in Voters |-> IF m = First THEN Supporters ELSE {}]
  /\ made = {} /\ done = 0
  /\ restarts = 0

\* A member asks for an epoch that it has not led. If it leads, it gives that up.
Ask(m, e) ==
  /\ e > asks[m] /\ e > leads[m] /\ e > floor[m] /\ ~empty[m]
  /\ e > voted[m].epoch \/ voted[m] = Vote(e, m)
  /\ led[e] # m
  /\ asked' = asked \cup {Vote(e, m)} /\ asks' = [asks EXCEPT ![m] = e]
  /\ leads' = [leads EXCEPT ![m] = 0] /\ counts' = [counts EXCEPT ![m] = {}]
  /\ UNCHANGED <<voted, have, disk, waits, old, led, made, done, restarts>>

\* These cease to count on v, and these begin to. Without a majority a leadership ends; and with the leader's promise to
\* itself, which it renews as long as it leads.
Count(v, less, more) ==
  LET now(m) == IF m \in less THEN counts[m] \ {v} ELSE IF m \in more THEN counts[m] \cup {v} ELSE counts[m]
      ends(m) == leads[m] > 0 /\ ~(m \in now(m) /\ IsMajority(now(m)))
  IN /\ counts' = [m \in Voters |-> IF ends(m) THEN {} ELSE now(m)]
     /\ leads' = [m \in Voters |-> IF ends(m) THEN 0 ELSE leads[m]]

\* Whether v may vote for r.for in epoch r.epoch, the list of which it takes for that of the request.
MayVote(v, r) ==
  /\ r.epoch > voted[v].epoch \/ voted[v] = r
  /\ r.epoch > floor[v] \/ Wrong = "floor"
  /\ mute[v] = 0 \/ Wrong = "mute"
  /\ ~empty[v]
  /\ have[v] <= have[r.for] /\ r.epoch > have[v]
  /\ r.for \in Longer => long[v] \/ Wrong = "length"

\* Where the reserve covers the epoch the voter answers at once, else after its disk has the vote. Its promises to others
\* end before, the last moment at which that changes anything; and no earlier than these cease to count on them.
GiveVote(v, r) ==
  /\ MayVote(v, r)
  /\ voted' = [voted EXCEPT ![v] = r]
  /\ record' = IF r.epoch <= reserve[v] \/ Wrong = "reserve" THEN record ELSE [record EXCEPT ![v] = r]
  /\ Count(v, Voters \ (old[v] \cup {r.for}), IF asks[r.for] = r.epoch THEN {r.for} ELSE {})
  /\ old' = [old EXCEPT ![v] = @ \ {r.for}]
  /\ UNCHANGED <<have, long, reserve, waits, members>>

Become(m) ==
  /\ asks[m] > 0 /\ IsMajority(counts[m])
  /\ leads' = [leads EXCEPT ![m] = asks[m]] /\ asks' = [asks EXCEPT ![m] = 0]
  /\ led' = [led EXCEPT ![asks[m]] = IF @ = Nobody THEN m ELSE Twice]
  /\ UNCHANGED <<voted, have, disk, waits, old, asked, counts, made, done, restarts>>

\* Whether v heeds the leader of epoch e at all. In an epoch that it may have forgotten it does so only after the wait; if
\* its disk was empty, that is each epoch.
Heeds(v, e) ==
  /\ led[e] \in Voters /\ e >= voted[v].epoch
  /\ IF empty[v] THEN mute[v] = 0 \/ Wrong = "empty"
     ELSE \/ ~unsure[v] \/ e > floor[v] \/ Wrong = "silent"
          \/ Wrong = "named" /\ voted[v] = Vote(e, led[e])

\* A heartbeat of whoever led epoch e: it counts if that leads still. It tells a voter with an empty disk that epoch.
Acknowledge(v, e) ==
  /\ Heeds(v, e)
  /\ led[e] \in Longer => long[v] \/ Wrong = "length"
  /\ empty[v] => leads[led[e]] = e
  /\ voted' = [voted EXCEPT ![v] = Vote(e, led[e])]
  /\ Count(v, {}, IF leads[led[e]] = e THEN {led[e]} ELSE {})
  /\ old' = [old EXCEPT ![v] = @ \ {led[e]}]
  /\ empty' = [empty EXCEPT ![v] = FALSE]
  /\ floor' = IF empty[v] THEN [floor EXCEPT ![v] = e] ELSE floor
  /\ UNCHANGED <<have, disk, mute, unsure, members>>

\* The wait ends when promises as long as the record knew are over.
WaitEnds(v) ==
  /\ mute[v] > 0
  /\ LET over == {m \in old[v] : m \notin Longer \/ mute[v] = 2} IN
     /\ Count(v, over, {}) /\ old' = [old EXCEPT ![v] = @ \ over]
  /\ mute' = [mute EXCEPT ![v] = 0] /\ unsure' = [unsure EXCEPT ![v] = FALSE]
  /\ UNCHANGED <<voted, have, disk, empty, floor, members>>

\* The disk has all that the voter knows. That matters only before a restart.
Write(v) ==
  /\ v \in Mortal /\ (restarts < MaxRestarts /\ record[v] # voted[v] \/ ~long[v])
  /\ record' = [record EXCEPT ![v] = voted[v]] /\ long' = [long EXCEPT ![v] = TRUE]
  /\ UNCHANGED <<voted, have, reserve, waits, old, leads, counts, members>>

\* The process ends, and starts again with this record.
Restart(v, left, up, forgot) ==
  /\ restarts < MaxRestarts /\ restarts' = restarts + 1
  /\ voted' = [voted EXCEPT ![v] = left] /\ record' = [record EXCEPT ![v] = left]
  /\ floor' = [floor EXCEPT ![v] = up]
  /\ unsure' = [unsure EXCEPT ![v] = forgot] /\ mute' = [mute EXCEPT ![v] = IF long[v] THEN 2 ELSE 1]
  /\ old' = [old EXCEPT ![v] = {m \in Voters \ {v} : v \in counts[m]}]
  /\ asks' = [asks EXCEPT ![v] = 0] /\ leads' = [leads EXCEPT ![v] = 0]
  /\ counts' = [counts EXCEPT ![v] = {}]
  /\ reserve' = [reserve EXCEPT ![v] = Max(@, up + Reserve)]
  /\ UNCHANGED <<long, asked, led, made, done>>

Crash(v) ==
  /\ Restart(v, record[v], Max(reserve[v], record[v].epoch), TRUE)
  /\ UNCHANGED <<have, empty>>
\* An orderly stop writes the record whole, but what the life before forgot it does not know while it waits.
Stop(v) ==
  /\ Restart(v, IF Wrong = "stop" THEN record[v] ELSE voted[v], floor[v], unsure[v] /\ Wrong # "again")
  /\ UNCHANGED <<have, empty>>
Lose(v) ==
  /\ Restart(v, Vote(0, Nobody), 0, TRUE)
  /\ have' = [have EXCEPT ![v] = 0] /\ empty' = [empty EXCEPT ![v] = TRUE]

\* A leader gives its list the number of its epoch, and so confirms or changes it.
Make(m) ==
  /\ leads[m] > have[m]
  /\ have' = [have EXCEPT ![m] = leads[m]] /\ made' = made \cup {leads[m]}
  /\ UNCHANGED <<voted, disk, waits, old, leads, counts, asked, asks, led, done, restarts>>

\* A follower takes the list of its leader, and says so once it is durable, with all that it knows. The leader counts it if
\* it leads still.
Take(v, e) ==
  /\ e \in made /\ have[v] < e /\ v # led[e] /\ ~empty[v]
  /\ Heeds(v, e) \/ (Wrong = "list" /\ e >= voted[v].epoch)
  /\ voted' = [voted EXCEPT ![v] = Vote(e, led[e])] /\ have' = [have EXCEPT ![v] = e]
  /\ record' = [record EXCEPT ![v] = Vote(e, led[e])]
  /\ UNCHANGED <<long, reserve, waits, old, leads, counts, asked, asks, led, made, done, restarts>>

\* No epoch has two lists, and a leader whose epoch is over does not lead in it again.
Done(m) ==
  /\ leads[m] > done /\ leads[m] = have[m] /\ IsMajority({v \in Voters : have[v] = leads[m]}) /\ done' = leads[m]
  /\ UNCHANGED <<voted, have, disk, waits, old, leads, counts, asked, asks, led, made, restarts>>

Next ==
  \/ \E m \in Candidates : (\E e \in 2..MaxEpoch : Ask(m, e)) \/ Become(m)
  \/ \E m \in Lists : Make(m) \/ Done(m)
  \/ \E v \in Voters : \/ \E r \in asked : GiveVote(v, r)
                       \/ \E e \in 1..MaxEpoch : Acknowledge(v, e) \/ Take(v, e)
  \/ \E v \in Mortal : WaitEnds(v) \/ Write(v) \/ Crash(v) \/ Stop(v)
  \/ \E v \in Losing : Lose(v)

Spec == Init /\ [][Next]_vars

Leaders == {m \in Voters : leads[m] > 0}
AtMostOneLeads == Cardinality(Leaders) <= 1
NoEpochTwice == \A e \in 1..MaxEpoch : led[e] # Twice
\* Whoever leads a later epoch has what was done before.
NothingLost == \A m \in Leaders : leads[m] > done => have[m] >= done
=============================================================================
