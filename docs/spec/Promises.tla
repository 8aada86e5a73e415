------------------------------ MODULE Promises ------------------------------
\* Who may lead with a majority: votes, promises, the lease, release, restart and the death certificate of electd.
\* README.md beside this file says what is left out, and why that may be.
EXTENDS Naturals, FiniteSets

CONSTANTS
  Nodes,          \* the voters
  Candidates,     \* those of them that may lead
  Answering,      \* those that answer others: any two majorities of three share one voter, and this is that one
  Mortal,         \* those that may crash
  Slow, Fast,     \* how far a clock moves in a tick of true time: a candidate's, and that of a voter that answers
  Lease,          \* for how long a voter is bound, by its own clock, from when it takes a heartbeat
  Held,           \* for how long a leader leads, by its own clock, from when it sent that heartbeat
  MaxEpoch,       \* bounds of the search
  MaxIncarnation,
  MaxBeats,
  CertifyEarly,   \* planted: the certificate comes before the end of the job
  AnyIncarnation, \* planted: a certificate frees the promises to every incarnation
  TrustRefusals,  \* planted: a refused connection frees a promise, although a firewall refused it
  Forgetful       \* planted: a voter that starts again votes at once

VARIABLES
  rate,    \* of each node's clock
  up,      \* whether its process runs
  coroner, \* whether the process runs that certifies its death
  inc,     \* its incarnation
  epoch,   \* the greatest epoch that it knows; durable
  mute,    \* how long it votes for nobody after its restart
  promise, \* promise[m][n]: what m promised to n, volatile
  asked,   \* the epoch in which it is a candidate, and how long ago it asked
  term,    \* the epoch in which it leads, or led last
  lead,    \* how long it may still lead
  job,     \* how long its job may still run: a guard ends it at the end of the lease
  beat,    \* its last heartbeat, and how long ago it was sent
  asks, votes, beats, acks, releases, certs \* messages: each may come late, never, and all but heartbeats again

vars == <<rate, up, coroner, inc, epoch, mute, promise, asked, term, lead, job, beat,
          asks, votes, beats, acks, releases, certs>>

None == [inc |-> 0, epoch |-> 0, left |-> 0]
NotAsked == [epoch |-> 0, since |-> 0]
NoBeat == [number |-> 0, since |-> 0]
Less(left, by) == IF left > by THEN left - by ELSE 0
More(since, by) == IF since + by > Held THEN Held ELSE since + by
IsMajority(set) == 2 * Cardinality(set) > Cardinality(Nodes)

Init ==
  /\ rate = [n \in Nodes |-> IF n \in Answering THEN Fast ELSE Slow] \* the worst case: promises end early, leases late
  /\ up = [n \in Nodes |-> TRUE] /\ coroner = [n \in Nodes |-> TRUE]
  /\ inc = [n \in Nodes |-> 1] /\ epoch = [n \in Nodes |-> 0] /\ mute = [n \in Nodes |-> 0]
  /\ promise = [m \in Nodes |-> [n \in Nodes |-> None]]
  /\ asked = [n \in Nodes |-> NotAsked] /\ term = [n \in Nodes |-> 0]
  /\ lead = [n \in Nodes |-> 0] /\ job = [n \in Nodes |-> 0] /\ beat = [n \in Nodes |-> NoBeat]
  /\ asks = {} /\ votes = {} /\ beats = {} /\ acks = {} /\ releases = {} /\ certs = {}

\* Whether m may vote for n: it has waited after a restart, and is bound to nobody else.
IsFree(m, n) == mute[m] = 0 /\ \A k \in Nodes \ {n} : promise[m][k].left = 0
Promise(m, n, i, e) == [promise EXCEPT ![m][n] = [inc |-> i, epoch |-> e, left |-> Lease]]

\* A candidate votes for itself, and asks the others. The lease counts from here.
Ask(n) ==
  /\ up[n] /\ lead[n] = 0 /\ IsFree(n, n) /\ epoch[n] < MaxEpoch
  /\ LET e == epoch[n] + 1 IN
     /\ epoch' = [epoch EXCEPT ![n] = e]
     /\ promise' = Promise(n, n, inc[n], e)
     /\ asked' = [asked EXCEPT ![n] = [epoch |-> e, since |-> 0]]
     /\ asks' = asks \cup {[from |-> n, inc |-> inc[n], epoch |-> e]}
     /\ votes' = votes \cup {[by |-> n, to |-> n, epoch |-> e]}
  /\ UNCHANGED <<rate, up, coroner, inc, mute, term, lead, job, beat, beats, acks, releases, certs>>

Vote(m, a) ==
  /\ up[m] /\ m # a.from /\ a.epoch > epoch[m] /\ IsFree(m, a.from)
  /\ epoch' = [epoch EXCEPT ![m] = a.epoch]
  /\ promise' = Promise(m, a.from, a.inc, a.epoch)
  /\ votes' = votes \cup {[by |-> m, to |-> a.from, epoch |-> a.epoch]}
  /\ UNCHANGED <<rate, up, coroner, inc, mute, asked, term, lead, job, beat, asks, beats, acks, releases, certs>>

Become(n) ==
  /\ up[n] /\ asked[n].epoch > 0 /\ asked[n].epoch = epoch[n] /\ asked[n].since < Held
  /\ IsMajority({v.by : v \in {w \in votes : w.to = n /\ w.epoch = asked[n].epoch}})
  /\ term' = [term EXCEPT ![n] = asked[n].epoch]
  /\ lead' = [lead EXCEPT ![n] = Held - asked[n].since]
  /\ job' = [job EXCEPT ![n] = Held - asked[n].since]
  /\ asked' = [asked EXCEPT ![n] = NotAsked] /\ beat' = [beat EXCEPT ![n] = NoBeat]
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, promise, asks, votes, beats, acks, releases, certs>>

\* A heartbeat renews the leader's promise to itself.
Beat(n) ==
  /\ up[n] /\ lead[n] > 0 /\ beat[n].number < MaxBeats
  /\ beat' = [beat EXCEPT ![n] = [number |-> @.number + 1, since |-> 0]]
  /\ promise' = Promise(n, n, inc[n], term[n])
  /\ beats' = beats \cup {[from |-> n, to |-> m, inc |-> inc[n], epoch |-> term[n], number |-> beat[n].number + 1] :
                          m \in Answering \ {n}}
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, asked, term, lead, job, asks, votes, acks, releases, certs>>

Acknowledge(b) ==
  /\ up[b.to] /\ b.epoch >= epoch[b.to]
  /\ beats' = beats \ {b}
  /\ epoch' = [epoch EXCEPT ![b.to] = b.epoch]
  /\ promise' = Promise(b.to, b.from, b.inc, b.epoch)
  /\ acks' = acks \cup {[by |-> b.to, to |-> b.from, epoch |-> b.epoch, number |-> b.number]}
  /\ UNCHANGED <<rate, up, coroner, inc, mute, asked, term, lead, job, beat, asks, votes, releases, certs>>

Renew(n) ==
  /\ up[n] /\ lead[n] > 0 /\ beat[n].number > 0 /\ Held - beat[n].since > lead[n]
  /\ IsMajority({n} \cup {a.by : a \in {x \in acks : x.to = n /\ x.epoch = term[n] /\ x.number = beat[n].number}})
  /\ lead' = [lead EXCEPT ![n] = Held - beat[n].since] /\ job' = [job EXCEPT ![n] = Held - beat[n].since]
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, promise, asked, term, beat, asks, votes, beats, acks, releases, certs>>

\* A leader that hands over ends its job first.
Release(n) ==
  /\ up[n] /\ lead[n] > 0
  /\ lead' = [lead EXCEPT ![n] = 0] /\ job' = [job EXCEPT ![n] = 0]
  /\ promise' = [promise EXCEPT ![n][n] = None]
  /\ releases' = releases \cup {[from |-> n, epoch |-> term[n]]}
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, asked, term, beat, asks, votes, beats, acks, certs>>

TakeRelease(m, r) ==
  /\ up[m] /\ promise[m][r.from].left > 0 /\ promise[m][r.from].epoch <= r.epoch
  /\ promise' = [promise EXCEPT ![m][r.from] = None]
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, asked, term, lead, job, beat, asks, votes, beats, acks, releases, certs>>

\* The process ends, and with it what it knew beside its record. Its job runs on until its guard ends it.
Crash(n, withCoroner) ==
  /\ up[n] /\ up' = [up EXCEPT ![n] = FALSE]
  /\ coroner' = [coroner EXCEPT ![n] = ~withCoroner]
  /\ lead' = [lead EXCEPT ![n] = 0] /\ asked' = [asked EXCEPT ![n] = NotAsked]
  /\ promise' = [promise EXCEPT ![n] = [k \in Nodes |-> None]] /\ mute' = [mute EXCEPT ![n] = 0]
  /\ UNCHANGED <<rate, inc, epoch, term, job, beat, asks, votes, beats, acks, releases, certs>>

JobEnds(n) ==
  /\ ~up[n] /\ job[n] > 0 /\ job' = [job EXCEPT ![n] = 0]
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, promise, asked, term, lead, beat, asks, votes, beats, acks, releases, certs>>

Death(n, i) == [of |-> n, inc |-> i]

\* A start waits for the locks of the last job, so its hello certifies the death of the last incarnation.
Restart(n) ==
  /\ ~up[n] /\ job[n] = 0 /\ inc[n] < MaxIncarnation
  /\ up' = [up EXCEPT ![n] = TRUE] /\ coroner' = [coroner EXCEPT ![n] = TRUE]
  /\ inc' = [inc EXCEPT ![n] = @ + 1] /\ mute' = [mute EXCEPT ![n] = IF Forgetful THEN 0 ELSE Lease]
  /\ certs' = certs \cup {Death(n, inc[n])}
  /\ UNCHANGED <<rate, epoch, promise, asked, term, lead, job, beat, asks, votes, beats, acks, releases>>

Certify(n) ==
  /\ ~up[n] /\ coroner[n] /\ (CertifyEarly \/ job[n] = 0) /\ Death(n, inc[n]) \notin certs
  /\ certs' = certs \cup {Death(n, inc[n])}
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, promise, asked, term, lead, job, beat, asks, votes, beats, acks, releases>>

\* From whoever has it, at any later time.
TakeCertificate(m, c) ==
  /\ up[m] /\ promise[m][c.of].left > 0 /\ (AnyIncarnation \/ promise[m][c.of].inc = c.inc)
  /\ promise' = [promise EXCEPT ![m][c.of] = None]
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, asked, term, lead, job, beat, asks, votes, beats, acks, releases, certs>>

Refused(m, n) ==
  /\ TrustRefusals /\ m # n /\ up[m] /\ promise[m][n].left > 0
  /\ promise' = [promise EXCEPT ![m][n] = None]
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, mute, asked, term, lead, job, beat, asks, votes, beats, acks, releases, certs>>

\* A tick of true time. Messages that nobody would take any more are dropped, which changes nothing but the number of states.
Tick ==
  /\ promise' = [m \in Nodes |-> [n \in Nodes |->
       IF promise[m][n].left > rate[m] THEN [promise[m][n] EXCEPT !.left = @ - rate[m]] ELSE None]]
  /\ mute' = [n \in Nodes |-> Less(mute[n], rate[n])]
  /\ lead' = [n \in Nodes |-> Less(lead[n], rate[n])] /\ job' = [n \in Nodes |-> Less(job[n], rate[n])]
  /\ asked' = [n \in Nodes |-> IF asked[n].epoch > 0 /\ asked[n].since + rate[n] < Held
                               THEN [asked[n] EXCEPT !.since = @ + rate[n]] ELSE NotAsked]
  /\ beat' = [n \in Nodes |-> IF lead'[n] > 0 /\ beat[n].number > 0 THEN [beat[n] EXCEPT !.since = More(@, rate[n])] ELSE NoBeat]
  /\ asks' = {a \in asks : \E m \in Answering : a.epoch > epoch[m]}
  /\ votes' = {v \in votes : asked'[v.to].epoch = v.epoch}
  /\ beats' = {b \in beats : b.epoch >= epoch[b.to]}
  /\ acks' = {a \in acks : lead'[a.to] > 0 /\ term[a.to] = a.epoch /\ beat[a.to].number = a.number}
  /\ releases' = {r \in releases : \E m \in Answering : epoch[m] <= r.epoch \/ promise'[m][r.from].left > 0}
  /\ term' = [n \in Nodes |-> IF lead'[n] > 0 THEN term[n] ELSE 0]
  /\ UNCHANGED <<rate, up, coroner, inc, epoch, certs>>

Next ==
  \/ Tick
  \/ \E n \in Candidates : Ask(n) \/ Become(n) \/ Beat(n) \/ Renew(n) \/ Release(n)
  \/ \E n \in Mortal : Crash(n, TRUE) \/ Crash(n, FALSE) \/ JobEnds(n) \/ Restart(n) \/ Certify(n)
  \/ \E b \in beats : Acknowledge(b)
  \/ \E m \in Answering : \/ \E a \in asks : Vote(m, a)
                          \/ \E r \in releases : TakeRelease(m, r)
                          \/ \E c \in certs : TakeCertificate(m, c)
                          \/ \E n \in Nodes : Refused(m, n)

Spec == Init /\ [][Next]_vars

\* A member acts while it leads, and while its job runs.
Acts(n) == (up[n] /\ lead[n] > 0) \/ job[n] > 0
AtMostOneActs == \A n, m \in Nodes : Acts(n) /\ Acts(m) => n = m
=============================================================================
