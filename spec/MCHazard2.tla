----------------------------- MODULE MCHazard2 ------------------------------
\* HZ2: entries are recorded and reported before their term is in the recording log.
\*
\* Before the first two tales member 1 has led term 0, whose only entry all have recorded, and leads
\* term 1 with member 2. It has recorded the first entry of term 1; member 2 has opened that term
\* and has no entry of it; member 0 is still in term 0. In MCCatchup member 0 catches up. In MCCopy
\* member 1 is elected again, in term 2, and member 0 copies term 1 from its archive. In both,
\* member 0 reports the entry, and the leader commits it. Then the election of member 0 fails and
\* begins again: member 0 takes its two entries for entries of term 0. Member 1 is gone.
\*
\* MCRestart is in the first term. Member 1 leads it with member 2 and has recorded the first entry.
\* Member 0 catches up and reports that entry, and the leader commits it. Then member 0 restarts:
\* its recording log has no term, so its recording is forgotten.
\*
\* MCLiveLog: member 0 awaits the log of term 1, which it joins before the first entry. Its archive
\* has recorded that entry when the election of member 0 fails, and its recording log does not have
\* the term yet (hardened, it does). Member 0 canvasses with its log, and member 1 counts it.
\*
\* From here all steps of members 0 and 2 are explored, with one message under way between them.
EXTENDS MCBounds

MCBefore(n) ==
    Elected(1, <<0, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o EnterElections(<<1, 2>>) \o Elected(1, <<2>>, 1) \o Records(1)

MCCatchup(n) ==
    Does(0, "EnterElection") \o Repeats(0, "Canvass", {}) \o Arrival(0, 1) \o Arrival(1, 0)
    \o Loss(0, 2) \o Does(0, "FollowerReplay") \o Reads(0) \o Does(0, "FollowerReplay")
    \o Does(0, "FollowerCatchupInit") \o Arrival(0, 1) \o Does(0, "FollowerCatchupAwait")
    \o Records(0) \o Repeats(0, "FollowerCatchup", {}) \o Arrival(0, 1)
    \o Advances(1, Members) \o Loss(1, 2) \o Loss(1, 0)
    \o Does(0, "ElectionError") \o Does(0, "ElectionInit") \o Does(2, "EnterElection")

MCCopy(n) ==
    EnterElections(<<0, 1>>) \o Stands(1, 0) \o Loss(0, 2)
    \o Repeats(1, "LeaderLogReplication", {1, 0}) \o Loss(1, 2) \o Arrival(1, 0)
    \o Repeats(0, "Canvass", {}) \o Arrival(0, 1) \o Loss(0, 2) \o Arrival(1, 0)
    \o Does(0, "FollowerLogReplication") \o Records(0)
    \o Repeats(0, "FollowerLogReplication", {}) \o Arrival(0, 1)
    \o Hearing(1, "LeaderLogReplication", {1, 0}) \o Hearing(1, "LeaderReplay", {1, 0}) \o Reads(1)
    \o Does(0, "ElectionError") \o Does(0, "ElectionInit") \o Does(2, "EnterElection")

MCFirstTerm(n) == Elected(1, <<2>>, 0) \o Records(1)

MCRestart(n) ==
    Repeats(0, "Canvass", {}) \o Arrival(0, 1) \o Arrival(1, 0) \o Loss(0, 2)
    \o Does(0, "FollowerReplay") \o Does(0, "FollowerCatchupInit") \o Arrival(0, 1)
    \o Does(0, "FollowerCatchupAwait") \o Records(0) \o Repeats(0, "FollowerCatchup", {})
    \o Arrival(0, 1) \o Advances(1, Members) \o Loss(1, 2) \o Loss(1, 0)
    \o Restarts(0) \o Does(2, "EnterElection")

MCBeforeLive(n) ==
    Elected(1, <<0, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o EnterElections(<<0, 1, 2>>) \o Stands(1, 2) \o Silence
    \o Repeats(1, "LeaderLogReplication", Members) \o Arrival(1, 0) \o Arrival(1, 2) \o Silence
    \o (IF IsUpstreamFix
        THEN Reports(1, 0) \o Reports(1, 2) \o Commits(1, "LeaderLogReplication", Members)
             \o Arrival(1, 0) \o Arrival(1, 2) \o Silence
        ELSE IF IsHardened("HZ5")
        THEN Reports(1, 0) \o Reports(1, 2) \o Hearing(1, "LeaderLogReplication", Members)
        ELSE <<>>)
    \o Prepares(1, 1) \o Silence
    \o (IF IsHardened("HZ5")
        THEN Commits(1, "LeaderReady", Members) \o Arrival(1, 0) \o Arrival(1, 2) \o Silence ELSE <<>>)
    \o Joins(1, 2, 1)
    \o Does(0, "FollowerReplay") \o Reads(0) \o Does(0, "FollowerReplay")
    \o Does(0, "FollowerLogInit") \o OpensLog(1, Members) \o Records(1)

MCLiveLog(n) ==
    (IF IsHardened("HZ2") THEN Does(0, "FollowerLogAwait") ELSE <<>>) \o Records(0)
    \o Does(0, "ElectionError") \o Does(0, "ElectionInit")
    \o Repeats(0, "Canvass", {}) \o Arrival(0, 1) \o Loss(1, 0) \o Loss(0, 2)
    \o (IF IsUpstreamFix THEN Hearing(1, "UpdateLeaderPosition", Members)
        ELSE Advances(1, Members) \o Loss(1, 2) \o Loss(1, 0))
    \o Does(2, "EnterElection")

MCAbsent == 1
=============================================================================
