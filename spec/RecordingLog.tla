---------------------------- MODULE RecordingLog ----------------------------
\* The TERM entries of Aeron's recording log: the leadership terms of the log, each with its base
\* and its end. logPosition is the end; it is -1 while the term is open.
\*
\* Aeron fills a gap between two terms with empty terms at the base of the later one. Here these are
\* implied: a term below the last entry that no entry names is empty, at the base of the next entry.
\* So a state after five hundred failed terms is as small as after one.
\*
\* The recording log and the bytes of the log are separate variables, because they can disagree:
\* hazards HZ2 and HZ6.
\*
\* Left out: SNAPSHOT entries (the member state has the latest snapshot), timestamps, recording ids,
\* invalid entries.
\* Source: RecordingLog.java.
EXTENDS Messages

TermEntry(term, base, end) ==
    [leadershipTermId |-> term, termBaseLogPosition |-> base, logPosition |-> end]

NoTermEntry == TermEntry(NULL_VALUE, NULL_POSITION, NULL_POSITION)
LastEntry(rl) == IF rl = <<>> THEN NoTermEntry ELSE rl[Len(rl)]
LastTerm(rl) == LastEntry(rl).leadershipTermId

\* FindTermEntry: the entry of the term, which may be implied; else NoTermEntry.
FindTermEntry(rl, term) ==
    IF term < 0 \/ term > LastTerm(rl) THEN NoTermEntry
    ELSE LET k == CHOOSE k \in DOMAIN rl :
                    /\ rl[k].leadershipTermId >= term
                    /\ \A j \in 1 .. (k - 1) : rl[j].leadershipTermId < term
         IN  IF rl[k].leadershipTermId = term THEN rl[k]
             ELSE TermEntry(term, rl[k].termBaseLogPosition, rl[k].termBaseLogPosition)

\* CommitLogPosition: set the end of a term that has an entry. Entries of later terms do not change.
\* Source: RecordingLog.commitLogPosition.
CommitLogPosition(rl, term, end) ==
    [k \in DOMAIN rl |-> IF rl[k].leadershipTermId = term
                         THEN [rl[k] EXCEPT !.logPosition = end] ELSE rl[k]]

\* CutTerms: the recording log of a log that ends at position, without the terms that begin beyond
\* it. A log can be truncated below the base of its last term only if hardening HZ5 has opened that
\* term too early.
CutTerms(rl, position) ==
    LET kept == SelectSeq(rl, LAMBDA entry : entry.termBaseLogPosition <= position)
    IN  CommitLogPosition(kept, LastTerm(kept), position)

\* EnsureCoherent: make term the last one, unless the recording log has it or a later one.
\*
\* An open last term is closed at base. The new term begins where the last one ends, so base itself
\* is not used if the last one was closed. If the recording log has term already, only its end is
\* set, and only if end is given. The first entry of a log that begins at a snapshot is for the term
\* of the snapshot, at its base.
\*
\* If no base is given, Aeron takes the base of the last term that the election found in the
\* recording log. A member may be closed in a term whose first entry it consumed outside elections.
\* It has no entry of that term, so the term before it is closed at its own base.
\* Source: RecordingLog.ensureCoherent, Election.ensureRecordingLogCoherent.
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

\* INV: RecordingLogCoherent. Terms rise, each begins at the end of the previous one, and only the
\* last is open.
IsCoherent(rl) ==
    \A k \in DOMAIN rl :
        /\ rl[k].logPosition # NULL_POSITION => rl[k].termBaseLogPosition <= rl[k].logPosition
        /\ k < Len(rl) => /\ rl[k].leadershipTermId < rl[k + 1].leadershipTermId
                          /\ rl[k].logPosition = rl[k + 1].termBaseLogPosition
=============================================================================
