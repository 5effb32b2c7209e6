----------------------------- MODULE MCHazard3 ------------------------------
(***************************************************************************)
(* HZ3: in CANVASS a NewLeadershipTerm of any term is accepted.            *)
(*                                                                         *)
(* The story: member 2 leads term 0 with both others and has recorded the  *)
(* term's first entry, which nobody else has got.  Member 1 loses it,      *)
(* stands in term 1 and gets member 0's vote, which is still under way.    *)
(* Member 0's ballot has timed out: it canvasses again, is answered by     *)
(* member 2, and follows it in term 0, although it has voted in term 1.    *)
(* It catches up, and with it member 2 commits the entry.  In upstream-fix *)
(* member 0 ignores the answer of member 2, and the story ends there.      *)
(*                                                                         *)
(* From here everything is explored in which nobody opens a third term,    *)
(* member 0 has nothing more to say, and no more than two messages are     *)
(* under way besides.                                                      *)
(***************************************************************************)
EXTENDS Story, Equivalents

CONSTANTS MaxTerm, MaxPosition

MCStory ==
    LET a == EnterElections(Keep(Elected(Begin, 2, {0, 1}), 2), {0, 1})
        b == Silence(Publish(Silence(a), 0, "Canvass"))
        c == Get([b EXCEPT !.channel = Publish(Silence(a), 0, "Canvass").channel], 0, 1)
        d == Timely(Timely(Silence(c), 1, "Canvass"), 1, "Nominate")
        e == Get(Do(d, 1, "CandidateBallot", [NoInput EXCEPT !.accepted = {0}]), 1, 0)
        f == Get(Get(Publish(Timely(e, 0, "FollowerBallot"), 0, "Canvass"), 0, 2), 2, 0)
        g == Get(Quiet(Quiet(f, 0, "FollowerReplay"), 0, "FollowerCatchupInit"), 0, 2)
        h == Get(Publish(Keep(Quiet(g, 0, "FollowerCatchupAwait"), 0), 0, "FollowerCatchup"), 0, 2)
        k == Tell(Lead(h, 2, "UpdateLeaderPosition"), 2, "UpdateLeaderPosition")
    IN  IF UpstreamFix
        THEN [f EXCEPT !.channel = [NoChannels EXCEPT ![0][1] = f.channel[0][1],
                                                     ![2][0] = f.channel[2][0]]]
        ELSE [k EXCEPT !.channel = [NoChannels EXCEPT ![0][1] = k.channel[0][1]]]

MCInit ==
    LET c == MCStory
    IN  member = c.member /\ channel = c.channel /\ log = c.log /\ hist = c.hist

MCBoundTerm(i, term) == term <= MaxTerm
MCBoundAppend(position) == position <= MaxPosition
MCBoundInterval(i) ==
    /\ (i # 0 \/ UpstreamFix) /\ member[i].electionState # "NOMINATE"
    /\ \A j \in Members : \A k \in DOMAIN channel[i][j] : channel[i][j][k].type = "Vote"
MCNever(i) == FALSE
MCNever2(i, j) == FALSE
MCActiveSets(i) == {Members}
MCAcceptedSets(i) == {Members \ {i}}
MCUrgent(i) ==
    \/ member[i].electionState \in {"LEADER_INIT", "FOLLOWER_LOG_INIT", "INIT"}
    \/ MayRecord(i)
=============================================================================
