----------------------------- MODULE MCElection -----------------------------
\* The election of one term: from CANVASS of all members to a closed leader and closed followers,
\* with all messages.
\*
\* Bounds: two of the three members run for election, once each. The only entry is the leader's
\* first one. There are no restarts and no errors, and no member loses its leader. At most two
\* messages are under way. A member repeats its periodic message only if none of its own is under
\* way; a closed member does not repeat it. The messages of the third member in CANVASS are lost, so
\* the two need a quorum without it. A leader hears of all members: with equal, empty logs this
\* makes no difference. Recording, at once, and internal steps that no other member can see come
\* first.
EXTENDS MCBounds

MCBoundTerm(i, term) == term <= MaxTerm /\ i # 2
MCBoundInterval(i) == /\ member[i].electionState \notin {"NOMINATE", "CLOSED"}
                      /\ i = 2 => member[i].electionState # "CANVASS"
                      /\ IfQuiet(i)

MCUrgent(i) ==
    \/ ReplayFirst(i)
    \/ MayRecord(i)
    \/ /\ At(member[i], "CANVASS")
       /\ i # 2 /\ IsUnanimousCandidate(i, member[i])
=============================================================================
