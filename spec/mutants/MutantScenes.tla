----------------------------- MODULE MutantScenes -----------------------------
(***************************************************************************)
(* What the stories of the mutants share.  A mutant overrides one operator *)
(* of the spec in its configuration; its family's configuration, without   *)
(* the override, is the proof that nothing else breaks the property.       *)
(***************************************************************************)
EXTENDS Story, Equivalents

(***************************************************************************)
(* TellAll(c, i): i canvasses, and all others hear it.                     *)
(***************************************************************************)
TellAll(c, i) ==
    LET Hear(d, j) == Get(d, i, j)
    IN  ForEach(Publish(c, i, "Canvass"), Members \ {i}, Hear)

(***************************************************************************)
(* AboutToStand(c, i): i stands, of its own accord or by its deadline, if  *)
(* it has not begun to.                                                    *)
(***************************************************************************)
AboutToStand(c, i) ==
    IF c.member[i].electionState = "CANVASS" THEN Timely(c, i, "Canvass") ELSE c

(***************************************************************************)
(* AskedBy(c, i, voters): i opens its ballot and asks these for votes.     *)
(***************************************************************************)
AskedBy(c, i, voters) ==
    Do(Timely(c, i, "Nominate"), i, "CandidateBallot", [NoInput EXCEPT !.accepted = voters])

(***************************************************************************)
(* HearEachOther(c, i, j): i and j canvass and hear each other.            *)
(***************************************************************************)
HearEachOther(c, i, j) ==
    LET a == Silence(Get(Publish(c, i, "Canvass"), i, j))
    IN  Silence(Get(Publish(a, j, "Canvass"), j, i))

(***************************************************************************)
(* GivesUp(c, i): the election of i fails, and it canvasses again.         *)
(***************************************************************************)
GivesUp(c, i) == Quiet(Quiet(c, i, "ElectionError"), i, "ElectionInit")

(***************************************************************************)
(* Settled(c, i, voters): i has won; its voters, who have all that it has, *)
(* close with it, and it has written the term's first entry.               *)
(***************************************************************************)
Settled(c, i, voters) ==
    LET Arrive(d, j) == Silence(Get(Join(d, i, j), j, i))
    IN  OpenLog(ForEach(Prepare(Announce(c, i, voters), i), voters, Arrive), i)

(***************************************************************************)
(* Down(c, i): the process of i has ended; what is left of it is its disk. *)
(***************************************************************************)
Down(c, i) == [c EXCEPT !.member[i] = Disk(@)]

StartsWith(stories) ==
    \E c \in stories : member = c.member /\ channel = c.channel /\ log = c.log /\ hist = c.hist

(***************************************************************************)
(* Bounds that several families use.                                       *)
(***************************************************************************)
CONSTANT MaxTerm

TermsUpToMax(i, term) == term <= MaxTerm
NotAgain(i) == \A j \in Members : channel[i][j] = <<>>
Never(i) == FALSE
AnyMessage(i, j) == TRUE
NeverBetween(i, j) == FALSE
NoActiveSets(i) == {}
AllActive(i) == {Members}
AllAccept(i) == {Members \ {i}}
=============================================================================
