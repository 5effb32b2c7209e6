----------------------------- MODULE MCHazard11 -----------------------------
\* HZ11: a leader counts a canvass of a member that has voted in a newer term. Five members, all
\* other hardenings.
\*
\* At the start member 0 is the closed leader of term 0, which members 0, 1 and 2 have opened. Its
\* first entry is on its own disk and on the one of member 1. Member 2, without the entry, has won
\* term 1 with the votes of members 3 and 4, and opened it on its own disk only; it has also used up
\* term 2 with a candidacy of which no member heard. Member 1 has won term 2 with the same votes,
\* members 3 and 4 have copied term 0 from it and canvass, and its process has ended. No message is
\* under way.
\*
\* From here TLC searches with the bounds of MCTwoElections: one message at once, all active, no
\* crash. Only member 2 may run for election, and no member that is closed loses its leader or its
\* followers.
EXTENDS MCTwoElections

Calls(i, a) == Repeats(a, "Canvass", {}) \o Arrival(a, i)

WinsWith(i, a, b) ==
    Calls(i, a) \o Calls(i, b) \o Expires(i, "Canvass") \o Expires(i, "Nominate")
    \o Asks(i, {a, b}) \o Arrival(i, a) \o Arrival(i, b) \o Arrival(a, i) \o Arrival(b, i)
    \o Expires(i, "CandidateBallot") \o Silence

WastesTerm(i, a, b) ==
    Calls(i, a) \o Calls(i, b) \o Expires(i, "Canvass") \o Expires(i, "Nominate")
    \o Expires(i, "CandidateBallot") \o Silence

Opens ==
    LET Hears(j) == Arrival(0, j)
        Enters(j) == Joins(0, j, 0) \o Silence
    IN  WinsWith(0, 1, 2) \o Repeats(0, "LeaderLogReplication", Members)
        \o Each(Hears, <<1, 2>>) \o Silence \o Each(Enters, <<1, 2>>)
        \o Hearing(0, "LeaderLogReplication", Members) \o Prepares(0, 0) \o Silence
        \o OpensLog(0, Members) \o Silence \o Records(0) \o Records(1)

Canvasses(j) == Expires(j, "FollowerBallot")

Rivals ==
    Opens
    \o Does(2, "EnterElection") \o WinsWith(2, 3, 4) \o Each(Canvasses, <<3, 4>>)
    \o GivesUp(2) \o WastesTerm(2, 3, 4)
    \o Does(1, "EnterElection") \o WastesTerm(1, 3, 4) \o WinsWith(1, 3, 4)

\* Member j follows the leader of term 2, copies term 0 from its archive, and canvasses again.
Copies(j) ==
    Expires(j, "FollowerBallot") \o Calls(1, j) \o Arrival(1, j) \o Silence
    \o Does(j, "FollowerLogReplication") \o Records(j) \o Repeats(j, "FollowerLogReplication", {})
    \o Silence

\* Without the hardening the first step of the loss is a commit of member 0. Hardened, the same
\* steps are possible, but nothing is committed: members 3 and 4 still truncate the entry
\* (NeverTruncated is violated).
NeverTruncated == ~(\A j \in {3, 4} : log[j] = <<>>)

\* A canvass reaches only the leader that may count it and the member that may run for election. The
\* others note it, and never read the note.
CanvassesAreRead ==
    \A i \in Members, j \in Members \ ({0} \cup Candidates) :
        \A k \in DOMAIN channel'[i][j] : channel'[i][j][k].type # "CanvassPosition"

MCSeedInit ==
    /\ Starts(After(Rivals \o Each(Copies, <<3, 4>>) \o Dies(1)))
    /\ auxFaults = 0
=============================================================================
