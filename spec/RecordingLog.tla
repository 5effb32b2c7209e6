---------------------------- MODULE RecordingLog ----------------------------
(***************************************************************************)
(* The TERM entries of Aeron's recording log: which leadership terms the   *)
(* log holds, and where each begins and ends.                              *)
(*                                                                         *)
(* It is a sequence of [leadershipTermId, termBaseLogPosition,             *)
(* logPosition] with rising terms; logPosition is the end of the term, -1  *)
(* while the term is open.                                                 *)
(*                                                                         *)
(* Aeron fills a gap between two terms with empty terms at the base of the *)
(* later one.  Here they are implied: a term that no entry names, and that *)
(* lies below the last entry, is empty at the base of the next entry.  So  *)
(* a member that has seen five hundred terms fail is no larger a state     *)
(* than one that has seen one fail.                                        *)
(*                                                                         *)
(* It is kept apart from the bytes of the log on purpose: the two can      *)
(* disagree, and hazards HZ2 and HZ6 live in that difference.              *)
(*                                                                         *)
(* Source: RecordingLog.java; left out: SNAPSHOT entries (the member state *)
(* has the latest snapshot), timestamps, recording ids, invalid entries.   *)
(***************************************************************************)
EXTENDS Messages

TermEntry(term, base, end) ==
    [leadershipTermId |-> term, termBaseLogPosition |-> base, logPosition |-> end]

NoTermEntry == TermEntry(NULL_VALUE, NULL_POSITION, NULL_POSITION)

LastEntry(rl) == IF rl = <<>> THEN NoTermEntry ELSE rl[Len(rl)]

LastTerm(rl) == LastEntry(rl).leadershipTermId

(***************************************************************************)
(* FindTermEntry(rl, term): the entry of that term, an implied one         *)
(* included, or NoTermEntry.                                               *)
(***************************************************************************)
FindTermEntry(rl, term) ==
    IF term < 0 \/ term > LastTerm(rl) THEN NoTermEntry
    ELSE LET k == CHOOSE k \in DOMAIN rl :
                    /\ rl[k].leadershipTermId >= term
                    /\ \A j \in 1 .. (k - 1) : rl[j].leadershipTermId < term
         IN  IF rl[k].leadershipTermId = term THEN rl[k]
             ELSE TermEntry(term, rl[k].termBaseLogPosition, rl[k].termBaseLogPosition)

(***************************************************************************)
(* CommitLogPosition(rl, term, end): set the end of a term that an entry   *)
(* names.  Entries of later terms, if any, stay as they are.               *)
(* Source: RecordingLog.commitLogPosition.                                 *)
(***************************************************************************)
CommitLogPosition(rl, term, end) ==
    [k \in DOMAIN rl |-> IF rl[k].leadershipTermId = term
                         THEN [rl[k] EXCEPT !.logPosition = end] ELSE rl[k]]

(***************************************************************************)
(* CutTerms(rl, position): a log that ends at position, without the terms  *)
(* that begin beyond it.  Only a log that hardening HZ5 has opened a term  *)
(* in too early can be cut below the base of its last term.                *)
(***************************************************************************)
CutTerms(rl, position) ==
    LET kept == SelectSeq(rl, LAMBDA entry : entry.termBaseLogPosition <= position)
    IN  CommitLogPosition(kept, LastTerm(kept), position)

(***************************************************************************)
(* EnsureCoherent(rl, initialTerm, initialBase, term, base, end): make     *)
(* term the last one, unless it is there or below.                         *)
(*                                                                         *)
(* An open last term is closed at base; the new term begins where the last *)
(* one ends, so base itself is not used when the last one was closed.  If  *)
(* term is there already only its end is set, and only if one is given.    *)
(* The first entry of a log that begins at a snapshot stands at the        *)
(* snapshot's term and its base.                                           *)
(*                                                                         *)
(* Where no base is given Aeron takes the base of the term that the        *)
(* election found last in the recording log.  A member that is closed in a *)
(* term whose first entry it has consumed outside elections has no entry   *)
(* of that term, and closes the term before where that term began.         *)
(* Source: RecordingLog.ensureCoherent,                                    *)
(* Election.ensureRecordingLogCoherent.                                    *)
(***************************************************************************)
EnsureCoherent(rl, initialTerm, initialBase, term, base, end) ==
    IF rl = <<>>
    THEN LET b == IF base = NULL_POSITION THEN initialBase ELSE base
         IN  IF Max(0, initialTerm) < term /\ b # initialBase
             THEN <<TermEntry(term - 1, initialBase, b), TermEntry(term, b, end)>>
             ELSE <<TermEntry(term, b, end)>>
    ELSE IF LastTerm(rl) < term
    THEN LET last   == LastEntry(rl)
             closed == IF last.logPosition # NULL_POSITION THEN last.logPosition
                       ELSE IF base = NULL_POSITION THEN last.termBaseLogPosition ELSE base
         IN  Append(CommitLogPosition(rl, last.leadershipTermId, closed), TermEntry(term, closed, end))
    ELSE IF end # NULL_POSITION THEN CommitLogPosition(rl, term, end)
    ELSE rl

(***************************************************************************)
(* INV: RecordingLogCoherent.  Terms rise, each begins where the one       *)
(* before it ended, and only the last is open.                             *)
(***************************************************************************)
IsCoherent(rl) ==
    \A k \in DOMAIN rl :
        /\ rl[k].logPosition # NULL_POSITION => rl[k].termBaseLogPosition <= rl[k].logPosition
        /\ k < Len(rl) => /\ rl[k].leadershipTermId < rl[k + 1].leadershipTermId
                          /\ rl[k].logPosition = rl[k + 1].termBaseLogPosition
=============================================================================
