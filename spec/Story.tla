------------------------------- MODULE Story --------------------------------
(***************************************************************************)
(* Stories: a prefix of a behaviour, played step by step, from which a     *)
(* model goes on exhaustively.                                             *)
(*                                                                         *)
(* A hazard often needs two or three elections before it bites.  A story   *)
(* tells those; each of its steps is a step of Cluster.tla, so the state   *)
(* that it ends in is reachable by construction.  A story whose step is    *)
(* not enabled is a mistake, and TLC says so.                              *)
(***************************************************************************)
EXTENDS Properties, TLC

(***************************************************************************)
(* Steps of a story, each a function of the cluster c.  What a story sends *)
(* is held to MessagesAreWellFormed too, although no state shows it.       *)
(***************************************************************************)
Only(set) ==
    LET c == CHOOSE c \in set : TRUE
    IN  IF AreWellFormed(c.channel) THEN c ELSE Assert(FALSE, <<"not well-formed", c.channel>>)

Do(c, i, action, x) ==
    LET after == Taken(c, i, action, x, c.channel)
    IN  IF after = {} THEN Assert(FALSE, <<"the story stops at", i, action, c.member[i].electionState>>)
        ELSE Only(after)

Get(c, i, j) ==
    IF c.channel[i][j] = <<>> THEN Assert(FALSE, <<"nothing under way", i, j>>)
    ELSE LET m == Head(c.channel[i][j])
         IN  Only(Taken(c, j, ActionOf(m), [NoInput EXCEPT !.message = m, !.active = Members],
                        Receive(c.channel, i, j)))

Drop(c, i, j) == [c EXCEPT !.channel = Receive(@, i, j)]

RECURSIVE DropAll(_, _)
DropAll(c, pairs) ==
    IF pairs = {} THEN c
    ELSE LET p == CHOOSE p \in pairs : TRUE
         IN  DropAll([c EXCEPT !.channel[p[1]][p[2]] = <<>>], pairs \ {p})

Silence(c) == DropAll(c, Members \X Members)

Quiet(c, i, action) == Do(c, i, action, NoInput)

Timely(c, i, action) == Do(c, i, action, Timeout)

Publish(c, i, action) == Do(c, i, action, [NoInput EXCEPT !.interval = TRUE, !.active = Members])

Tell(c, i, action) == Do(c, i, action, [NoInput EXCEPT !.commitInterval = TRUE, !.active = Members])

Lead(c, i, action) == Do(c, i, action, [NoInput EXCEPT !.active = Members])

(***************************************************************************)
(* Commit(c, i): closed leader i takes note of what it has recorded        *)
(* itself, then commits.                                                   *)
(***************************************************************************)
Commit(c, i) == Lead(Lead(c, i, "UpdateLeaderPosition"), i, "UpdateLeaderPosition")

Write(c, i) == Do(c, i, "AppendEntry", [NoInput EXCEPT !.position = c.member[i].publicationPosition + 1])

Keep(c, i) == Do(c, i, "RecordLog", Record1(c, i))

Read(c, i) ==
    Do(c, i, IF IsTermEvent(c, i, c.member[i].commitPosition + 1)
             THEN "OnReplayNewLeadershipTermEvent" ELSE "ConsumeLog", Consume1(c, i))

(***************************************************************************)
(* Stand(c, i, j): i hears j canvass and stands; j votes for it; i wins    *)
(* when the ballot times out.  Both are in CANVASS before.                 *)
(***************************************************************************)
Stand(c, i, j) ==
    LET a == Silence(Publish(Silence(c), j, "Canvass"))
        b == Get([a EXCEPT !.channel = Publish(Silence(c), j, "Canvass").channel], j, i)
        d == Timely(Timely(Silence(b), i, "Canvass"), i, "Nominate")
        e == Do(d, i, "CandidateBallot", [NoInput EXCEPT !.accepted = {j}])
        f == Get(Get(e, i, j), j, i)
    IN  Silence(Timely(f, i, "CandidateBallot"))

(***************************************************************************)
(* Join(c, i, j): j, which has the leader's whole log, follows i through   *)
(* the election and closes; Prepare is the leader's side, whose            *)
(* announcement is lost.                                                   *)
(***************************************************************************)
RECURSIVE Replay(_, _)
Replay(c, i) == IF c.member[i].commitPosition < c.member[i].replayStopPosition THEN Replay(Read(c, i), i)
                ELSE c

Prepare(c, i) ==
    LET b == IF c.member[i].electionState = "LEADER_REPLAY" THEN c
             ELSE Lead(c, i, "LeaderLogReplication")
        a == Lead(b, i, "LeaderReplay")
    IN  Silence(IF a.member[i].electionState = "LEADER_INIT" THEN Quiet(a, i, "LeaderInit")
                ELSE Quiet(Lead(Replay(a, i), i, "LeaderReplay"), i, "LeaderInit"))

Join(c, i, j) ==
    LET a == Quiet(c, j, "FollowerReplay")
        b == IF a.member[j].electionState = "FOLLOWER_LOG_INIT" THEN a
             ELSE Quiet(Replay(a, j), j, "FollowerReplay")
    IN  Quiet(Quiet(Quiet(b, j, "FollowerLogInit"), j, "FollowerLogAwait"), j, "FollowerReady")

OpenLog(c, i) ==
    Do(c, i, "LeaderReady", [NoInput EXCEPT !.active = Members,
                                           !.position = c.member[i].publicationPosition + 1])

(***************************************************************************)
(* Elected(c, i, voters): i wins with the votes of all voters, who have    *)
(* all that i has; all close, and i has written the term's first entry,    *)
(* which nobody has recorded yet.                                          *)
(***************************************************************************)
ForEach(c, members, F(_, _)) ==
    LET after[set \in SUBSET members] ==
            IF set = {} THEN c
            ELSE LET j == CHOOSE j \in set : TRUE IN F(after[set \ {j}], j)
    IN  after[members]

Announce(c, i, voters) ==
    LET a == Publish(Silence(c), i, "LeaderLogReplication")
        Hear(d, j) == Get([d EXCEPT !.channel[i][j] = a.channel[i][j]], i, j)
    IN  Silence(ForEach(a, voters, Hear))

Elected(c, i, voters) ==
    LET first     == CHOOSE j \in voters : TRUE
        a         == Prepare(Announce(Stand(c, i, first), i, voters), i)
        Arrive(d, j) == Silence(Get(Join(d, i, j), j, i))
    IN  OpenLog(ForEach(a, voters, Arrive), i)

EnterElections(c, members) ==
    LET Enter(d, j) == Quiet(d, j, "EnterElection") IN ForEach(c, members, Enter)
=============================================================================
