----------------------------- MODULE MCHazard3 ------------------------------
\* HZ3: in CANVASS a NewLeadershipTerm of any term is accepted.
\*
\* The story: member 2 leads term 0 with both others and has recorded the first entry of the term,
\* which no other member has. Member 1 loses it, runs for election in term 1 and gets the vote of
\* member 0, which is still under way. The ballot of member 0 has timed out: it canvasses again,
\* member 2 answers, and member 0 follows it in term 0, although it has voted in term 1. It catches
\* up, and member 2 commits the entry with it. In upstream-fix member 0 ignores the answer, and the
\* story ends there.
\*
\* From here all behaviours are explored in which no member opens a third term, member 0 sends
\* nothing more, and at most two further messages are under way.
EXTENDS MCBounds

MCStory ==
    Elected(2, <<0, 1>>, 0) \o Records(2) \o EnterElections(<<0, 1>>)
    \o Repeats(0, "Canvass", Members) \o Arrival(0, 1) \o Silence
    \o Expires(1, "Canvass") \o Expires(1, "Nominate") \o Asks(1, {0}) \o Arrival(1, 0)
    \o Expires(0, "FollowerBallot") \o Repeats(0, "Canvass", Members) \o Arrival(0, 2) \o Arrival(2, 0)
    \o (IF IsUpstreamFix THEN <<>>
        ELSE Does(0, "FollowerReplay") \o Does(0, "FollowerCatchupInit") \o Arrival(0, 2)
             \o Does(0, "FollowerCatchupAwait") \o Records(0)
             \o Repeats(0, "FollowerCatchup", Members) \o Arrival(0, 2)
             \o Advances(2, Members) \o SilenceBut(0, 1))

MCInit == Starts(After(MCStory))

MCBoundInterval(i) ==
    /\ (i # 0 \/ IsUpstreamFix) /\ member[i].electionState # "NOMINATE"
    /\ \A j \in Members : \A k \in DOMAIN channel[i][j] : channel[i][j][k].type = "Vote"
MCUrgent(i) == InternalFirst(i) \/ MayRecord(i)
=============================================================================
