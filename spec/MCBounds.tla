------------------------------ MODULE MCBounds ------------------------------
\* The bounds that models share. A configuration replaces the bounds of Cluster.tla with them.
EXTENDS Script

CONSTANTS MaxTerm, MaxPosition

TermsUpToMax(i, term)    == term <= MaxTerm
UpToMax(position)        == position <= MaxPosition
IfQuiet(i)               == \A j \in Members : channel[i][j] = <<>>   \* nothing of its own under way
Never(i)                 == FALSE
NeverBetween(i, j)       == FALSE
AllActive(i)             == {Members}
AllAccept(i)             == {Members \ {i}}

\* A script: member 2 leads term 0 and records its first entry, which no other member receives.
\* Member 1 leads term 1 with member 0, and has recorded the first entry of that term, at the same
\* position.
TwoFirstEntries ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>) \o Elected(1, <<0>>, 0)
    \o Records(1)

\* Steps without sends that read and change only the member's own state.
InternalFirst(i) == member[i].electionState \in {"LEADER_INIT", "FOLLOWER_LOG_INIT", "INIT"}

ReplayFirst(i) ==
    \/ InternalFirst(i)
    \/ /\ At(member[i], "FOLLOWER_REPLAY")
       /\ member[i].commitPosition >= member[i].appendPosition

-----------------------------------------------------------------------------
\* Bounds for the steps after the tale. A member repeats its periodic message only if none is under
\* way among the present members, a closed follower only after it has recorded everything, a closed
\* leader never. A leader hears of all members. One member may be absent: it takes no step and
\* receives nothing. No step fails, no member restarts or starts an election by itself, and no
\* message is lost. The archive, and internal steps that no other member can see, come first.
Absent == NULL_VALUE    \* redefined by the MC modules in which a member is absent

NothingUnderWay == \A i, j \in Members \ {Absent} : channel[i][j] = <<>>
ScriptedTerm(i, term) == Playing \/ term <= MaxTerm
ScriptedAppend(position) == Playing \/ position <= MaxPosition
ScriptedInterval(i) ==
    \/ Playing
    \/ /\ NothingUnderWay /\ member[i].electionState # "NOMINATE"
       /\ member[i].electionState = "CLOSED" =>
              member[i].role = "FOLLOWER" /\ member[i].recordedPosition = MaxPosition
ScriptedActive(i) == IF Playing THEN {a \in SUBSET Members : i \in a} ELSE {Members}
ScriptedAccepted(i) == IF Playing THEN SUBSET (Members \ {i}) ELSE {Members \ {i, Absent}}
InScript(i) == Playing
InScript2(i, j) == Playing

AbsentIsStill ==
    Playing \/ Absent = NULL_VALUE
    \/ (member'[Absent] = member[Absent] /\ channel'[Absent] = channel[Absent])

Internal(i) ==
    (ReplayFirst(i) \/ MayRecord(i)) /\ i # Absent /\ ~Playing
-----------------------------------------------------------------------------
\* The ballots of the cluster are those of Ballots.tla, which is proved for any number of members
\* and terms. A member that is in no election has only the candidate term on its disk: the next
\* election begins with it.
Voting == INSTANCE Ballots WITH
    Terms     <- NULL_VALUE .. MaxTerm + 2,
    Quorums   <- {q \in SUBSET Members : Cardinality(q) >= Quorum},
    persisted <- [i \in Members |-> member[i].persistedCandidateTermId],
    current   <- [i \in Members |-> IF IsElecting(member[i]) THEN member[i].candidateTermId
                                    ELSE member[i].persistedCandidateTermId],
    votes     <- hist.votes,
    leaders   <- hist.leaders

BallotLemmas   == Voting!Lemmas
RefinesBallots == [][Voting!Next]_(Voting!vars)
=============================================================================
