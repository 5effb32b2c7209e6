----------------------------- MODULE MCLiveHZ3 ------------------------------
(***************************************************************************)
(* The price of hardening HZ3: a member that lost an election cannot come  *)
(* back to a leader of a lower term.                                       *)
(*                                                                         *)
(* Before the tale member 2 leads term 0 with both others.  Member 0 loses *)
(* it and stands in term 1, with a request that nobody gets; member 1,     *)
(* whose canvass let it do so, has come back to member 2.                  *)
(*                                                                         *)
(* In revision upstream-fix the member stands again after a while, so that *)
(* the leader of the lower term enters an election.                        *)
(***************************************************************************)
EXTENDS MCLive

MCBefore(n) ==
    Elected(2, <<0, 1>>, 0) \o EnterElections(<<0, 1>>)
    \o Repeats(1, "Canvass", {}) \o Arrival(1, 0) \o Arrival(1, 2) \o Expires(0, "Canvass")
    \o Expires(0, "Nominate") \o Expires(0, "CandidateBallot") \o Arrival(2, 1) \o Silence

MCScript(n) == <<>>

OneEntryPerTerm(position) ==
    Playing \/ position <= Cardinality({leader[1] : leader \in hist.leaders})

StaysOut == ~ClosedElection(0)

StandsOnce == ~At(member[0], "NOMINATE")
=============================================================================
