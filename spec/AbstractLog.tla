---------------------------- MODULE AbstractLog -----------------------------
\* A replicated log as its clients see it: one sequence of acknowledged entries that only grows,
\* members that have each applied a prefix of it, and their disks, of which any minority may be
\* lost. There are no terms and no messages. The cluster with all hardenings refines this
\* (MCRefinement.tla).
\*
\* A client is answered when the leader has applied its entry. Here an entry counts as acknowledged
\* as soon as any member has applied it: this promises more.
EXTENDS Naturals, Sequences, FiniteSets

CONSTANT Appliers    \* the members that apply the log

VARIABLES
    acknowledged,  \* the sequence of entries acknowledged so far
    applied,       \* [Appliers -> the entries applied, in order]
    kept,          \* [Appliers -> the entries on the disk, in order]
    serving        \* the newest leader, if it answers clients: a set of at most one member

logVars == <<acknowledged, applied, kept, serving>>

StartsWith(a, b) == Len(b) <= Len(a) /\ SubSeq(a, 1, Len(b)) = b

\* What a client rests on. A majority keeps each acknowledged entry: no loss of a minority makes an
\* answer false. The newest leader has applied all of them: a client that asks it sees every entry
\* for which any client has an answer. An older leader that does not know of the newest one may be
\* behind (MCRead.tla).
Promise ==
    /\ 2 * Cardinality({i \in Appliers : StartsWith(kept[i], acknowledged)}) > Cardinality(Appliers)
    /\ \A i \in serving : StartsWith(applied[i], acknowledged)

\* Member i applies entries that no member has applied; this acknowledges them.
Acknowledge(i) ==
    /\ Len(applied'[i]) > Len(acknowledged)
    /\ StartsWith(applied'[i], acknowledged)
    /\ acknowledged' = applied'[i]
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

\* Member i applies further acknowledged entries.
Apply(i) ==
    /\ Len(applied'[i]) > Len(applied[i])
    /\ StartsWith(acknowledged, applied'[i])
    /\ acknowledged' = acknowledged
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

\* Member i restarts from a snapshot, which is a prefix of the entries that it has applied.
Recover(i) ==
    /\ StartsWith(applied[i], applied'[i])
    /\ acknowledged' = acknowledged
    /\ \A j \in Appliers \ {i} : applied'[j] = applied[j]

\* Disks change, and leaders come and go, in any way that Promise allows.
Keep == acknowledged' = acknowledged /\ applied' = applied

\* A log may begin with entries, as that of a cluster with its disks does.
LogInit == (\A i \in Appliers : StartsWith(acknowledged, applied[i])) /\ Promise

LogNext ==
    /\ Keep \/ \E i \in Appliers : Acknowledge(i) \/ Apply(i) \/ Recover(i)
    /\ Promise'

LogSpec == LogInit /\ [][LogNext]_logVars
=============================================================================
