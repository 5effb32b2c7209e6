----------------------------- MODULE MCHazard10 -----------------------------
\* HZ10: a short copy is taken for a complete one.
\*
\* Before the tale member 1 leads term 0 with member 2. It has recorded two entries, member 2 only
\* the first one. Member 0 is new.
\*
\* The tale: member 1 wins term 1 with the vote of member 2. Member 0 copies term 0 from its
\* archive, which is lost after one entry; the election of member 1 fails. Member 0 records that
\* term 0 ends at 2 (hardened, at 1), and is elected in term 2 with the vote of member 2. It opens
\* term 2 there in its recording log, though its log ends at 1 and the first entry of term 2 is
\* written there. Member 1 canvasses with its two entries of term 0, and member 0 answers. From here
\* all steps of the three members are explored, with one message under way in each channel.
EXTENDS MCBounds

Ends(i, position) == Act(i, "FollowerLogReplication", [Interval(TRUE) EXCEPT !.position = position])

MCBefore(n) ==
    Elected(1, <<2>>, 0) \o Records(1) \o Records(2) \o Writes(1) \o Records(1)
    \o EnterElections(<<1, 2>>) \o Silence

MCScript(n) ==
    Stands(1, 2) \o Loss(2, 0)
    \o (IF IsUpstreamFix
        THEN Repeats(1, "LeaderLogReplication", {1, 2}) \o Loss(1, 0) \o Arrival(1, 2)
             \o Does(2, "FollowerLogReplication") \o Repeats(2, "FollowerLogReplication", {}) \o Arrival(2, 1)
        ELSE <<>>)
    \o Repeats(0, "Canvass", {}) \o Arrival(0, 1) \o Loss(0, 2) \o Arrival(1, 0)
    \o Does(0, "FollowerLogReplication") \o Records(0)
    \o (IF IsRev149 THEN Commits(1, "LeaderLogReplication", {1, 2}) \o Arrival(1, 0) \o Loss(1, 2) ELSE <<>>)
    \o Ends(0, 1) \o Loss(0, 1)
    \o Does(1, "ElectionError") \o Does(1, "ElectionInit")
    \o (IF IsUpstreamFix THEN GivesUp(2) ELSE Expires(2, "FollowerBallot"))
    \o Stands(0, 2) \o Loss(2, 1)
    \o (IF IsUpstreamFix \/ IsHardened("HZ5")
        THEN Repeats(0, "LeaderLogReplication", Members) \o Loss(0, 1) \o Arrival(0, 2) \o Reports(0, 2)
        ELSE <<>>)
    \o Hearing(0, "LeaderLogReplication", Members) \o Prepares(0, 1)
    \o Loss(0, 1) \o Loss(0, 2)
    \o Repeats(1, "Canvass", Members) \o Arrival(1, 0) \o Loss(1, 2)
=============================================================================
