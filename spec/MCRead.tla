------------------------------- MODULE MCRead -------------------------------
\* Is a read linearizable? A leader answers a read without an entry in the log: it notes its commit
\* position, waits until a quorum has acknowledged its term since then, and answers from the log up
\* to that position. The public branch linearizable-reads of Aeron (hasQuorumAckedSince in
\* ClusterMember.java) counts a member if its last report is of the leader's term and came after the
\* read. A report is an AppendPosition or a CanvassPosition: updateMemberLogPosition notes both.
\*
\* The start: member 0 has led term 0, and all have recorded the first entry, which no member has
\* reported. Members 1 and 2 have lost member 0, and nobody runs for election yet, or member 2 has
\* won term 1 with the vote of member 1. From here all behaviours are explored in which member 0
\* stays a leader until a message tells it otherwise, and is asked for one read. Only member 2 runs
\* for election. Nobody repeats a message while one is under way.
EXTENDS MCBounds

VARIABLE
    read    \* the read: leader, its term and commit position; committed anywhere; who has acknowledged

NoRead == [leader |-> NULL_VALUE, term |-> NULL_VALUE, position |-> 0, committed |-> 0, acked |-> {}]

LosesItsFollowers ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o Records(1) \o Records(2) \o EnterElections(<<1, 2>>)

ReadInit ==
    /\ StartsAfter(<<LosesItsFollowers, LosesItsFollowers \o Stands(2, 1) \o Silence>>)
    /\ read = NoRead

\* A report counts if the step notes it in the leader's term.
Acknowledges(i, A(_, _, _), x) ==
    /\ i = read.leader /\ Closed(member[i], "LEADER") /\ member[i].moduleLeadershipTermId = read.term
    /\ x.message.type \in {"AppendPosition", "CanvassPosition"}
    /\ LET j == x.message.followerMemberId
           blank == [member[i] EXCEPT !.members[j] = NoRecord]
       IN  \E o \in A(i, blank, x) : o.next.members[j].leadershipTermId = read.term

ReadTake(i, A(_, _, _), x, ch) ==
    /\ MayAct(i)
    /\ \E c \in Taken(Now, i, A, x, ch) : Becomes(c)
    /\ read' = IF Acknowledges(i, A, x)
               THEN [read EXCEPT !.acked = @ \cup {x.message.followerMemberId}] ELSE read

Ask(i) ==
    /\ Closed(member[i], "LEADER") /\ read = NoRead
    /\ read' = [NoRead EXCEPT !.leader = i, !.term = member[i].moduleLeadershipTermId,
                              !.position = member[i].commitPosition,
                              !.committed = Len(hist.committed)]
    /\ UNCHANGED vars

ReadNext == Next \/ (\E i \in Members : Ask(i)) \/ UNCHANGED <<vars, read>>

IsConfirmed ==
    /\ read # NoRead
    /\ Closed(member[read.leader], "LEADER") /\ member[read.leader].moduleLeadershipTermId = read.term
    /\ Cardinality(read.acked \cup {read.leader}) >= Quorum

\* INV: ReadsAreLinearizable. A leader that may answer has had committed, when the read came, all
\* that any member had committed.
ReadsAreLinearizable == IsConfirmed => read.position >= read.committed

\* Goal: a read may be answered.
NeverConfirmed == ~IsConfirmed

ReadTerm(i, term) == i = 2 /\ term <= MaxTerm
ReadInterval(i) == NothingUnderWay /\ member[i].electionState # "NOMINATE"
ReadUrgent(i) == ReplayFirst(i) \/ MayRecord(i)
=============================================================================
