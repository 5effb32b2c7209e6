------------------------------- MODULE MCFrom -------------------------------
\* The nearest loss from a given moment.
\*
\* `canvass distance` gives From, the cluster at a moment of a run, or with the members' disks, with
\* ranks for positions: an entry is the part of a log between two positions that a member or message
\* names. TLC searches breadth first, so it finds a shortest behaviour within the bounds: MaxSteps,
\* and the bounds of MCTwoElections, without the hardenings. Leaders write one more entry, or two of
\* different terms. Any member may lose its leader or its followers, run for election, and crash.
\*
\* The messages under way at the start are in From.channel. Each may arrive at any step, or never;
\* when one arrives, the earlier ones in its channel are lost. MaxUnderWay is greater than their
\* number, and each channel has room for one more than at the start: so they never prevent a later
\* message.
EXTENDS MCTwoElections

CONSTANTS
    From,      \* [member, channel, log, hist]
    MaxSteps   \* behaviours are searched up to this length

\* The network. A message that its receiver would ignore arrives only if a new message needs its
\* place.
FRHasRoom(ch, i, j) == Len(ch[i][j]) <= Len(From.channel[i][j])

FRMayArrive(i, j) ==
    {k \in DOMAIN channel[i][j] :
        \/ Matters(i, [to |-> j, message |-> channel[i][j][k]])
        \/ ~FRHasRoom(channel, i, j)
        \/ InFlight(channel) >= MaxUnderWay}

FromInit ==
    Starts(From) /\ auxFaults = 0

\* NearEnough is a condition on a step, an ACTION_CONSTRAINT: for a state, TLC 2.15 and newer
\* versions count the level differently.
NearEnough == TLCGet("level") <= MaxSteps

\* Moments for the models of the manifest. Near: the start of MCHazard1. NearFull: a message that
\* member 2 sent as leader is still under way to member 1, which ignores it. NearLate: member 2 has
\* canvassed since, and that message is behind the other one.
WithOldCommit(c) == [c EXCEPT !.channel[2][1] = <<CommitPosition(0, 0, 2)>> \o @]

Near == After(TwoFirstEntries)
NearFull == WithOldCommit(Near)
NearLate == WithOldCommit(After(TwoFirstEntries \o Does(2, "EnterElection") \o Repeats(2, "Canvass", {})))
=============================================================================
