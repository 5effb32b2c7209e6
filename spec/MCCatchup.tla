----------------------------- MODULE MCCatchup ------------------------------
\* Replication and catch-up: a member two terms behind comes back. Member 1 has led term 0 with two
\* entries, of which member 0 has the first only; member 2 has led term 1 and written one entry;
\* member 1 leads term 2 and has written one. Members 1 and 2 have all four entries, and all are
\* committed. Member 0 restarts. From here all steps of members 0 and 1 are explored. The goal is
\* the negation of a situation that must be reachable.
EXTENDS MCBounds

MCBefore(n) ==
    Elected(1, <<0, 2>>, 0) \o Records(1) \o Records(0) \o Records(2)
    \o Writes(1) \o Records(1) \o Records(2)
    \o EnterElections(<<1, 2>>) \o Elected(2, <<1>>, 2) \o Records(2) \o Records(1)
    \o EnterElections(<<1, 2>>) \o Elected(1, <<2>>, 1) \o Records(1) \o Records(2)
    \o Does(2, "UpdateFollowerPosition") \o Arrival(2, 1)
    \o Advances(1, Members) \o Silence \o Restarts(0)

MCScript(n) == <<>>
MCAbsent == 2
NeverCaughtUp == ~(FollowsClosed(0, 1) /\ member[0].commitPosition = 4)
=============================================================================
