------------------------------ MODULE MCLiveA -------------------------------
\* L-A: a leader that waits until its log is copied waits for ever after its followers have gone.
\*
\* Before the tale member 0 has led term 0 with both others, and recorded the first entry, which no
\* other member has. The tale: member 0 is elected again, in term 1, and waits until a quorum has
\* its entry. In the meantime the elections of the others fail, and they elect member 1 in term 2;
\* both logs are empty.
EXTENDS MCLive

MCBefore(n) ==
    Elected(0, <<1, 2>>, 0) \o Records(0) \o EnterElections(<<0, 1, 2>>)
    \o Stands(0, 1) \o Silence \o Does(1, "ElectionError") \o Does(1, "ElectionInit")
    \o Elected(1, <<2>>, 0)

MCScript(n) == <<>>
MCMended == {"LEADER_LOG_REPLICATION"}
=============================================================================
