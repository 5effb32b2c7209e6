---------------------------- MODULE MCHazard149 -----------------------------
\* Revision 1.49: a follower replays everything that it has recorded, committed or not, and takes
\* the end of its leader's log as the commit position.
\*
\* Before the tale member 0 leads term 0 with both others and has written the first entry, which its
\* own archive has not recorded yet. The tale: member 1 records the entry and restarts. It
\* canvasses, receives an answer, and begins to replay. Members 0 and 2 lose each other.
\*
\* The other tale: all have committed the first entry. Member 1 loses the leader and canvasses
\* twice. After the first answer it joins again. Then the leader writes the second entry and answers
\* again: the answer names the end of its log. Member 1 has recorded the entry and takes it as
\* committed. Members 0 and 2 lose each other.
\*
\* From here all steps of members 0 and 2 with each other are explored; only member 0 may run for
\* election. Member 1 only replays, or processes the entries that it takes as committed.
EXTENDS MCBounds

MCBefore(n) == Elected(0, <<1, 2>>, 0)

MCScript(n) ==
    Records(1) \o Restarts(1) \o Repeats(1, "Canvass", {}) \o Arrival(1, 0) \o Arrival(0, 1)
    \o Loss(1, 2) \o Repeats(1, "FollowerReplay", {}) \o EnterElections(<<0, 2>>)

MCCommitted(n) ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o Records(1) \o Records(2)
    \o Does(1, "UpdateFollowerPosition") \o Arrival(1, 0) \o Advances(0, Members)
    \o Arrival(0, 1) \o Reads(1) \o Arrival(0, 2) \o Reads(2) \o Silence

MCNotified(n) ==
    Does(1, "EnterElection") \o Repeats(1, "Canvass", {}) \o Arrival(1, 0) \o Loss(1, 2)
    \o Repeats(1, "Canvass", {}) \o Loss(1, 2) \o Arrival(0, 1)
    \o Does(1, "FollowerReplay") \o Does(1, "FollowerLogInit") \o Does(1, "FollowerLogAwait")
    \o Does(1, "FollowerReady") \o Writes(0) \o Arrival(1, 0) \o Records(1) \o Arrival(0, 1)
    \o EnterElections(<<0, 2>>)

MCAbsent == 1
MCTerm(i, term) == Playing \/ (i = 0 /\ term <= MaxTerm)

MCAbsentReplays ==
    \/ Playing
    \/ /\ channel'[1] = channel[1]
       /\ \/ member'[1] = member[1]
          \/ member'[1].commitPosition > member[1].commitPosition
=============================================================================
