------------------------------ MODULE Hardened ------------------------------
\* The hardenings: one for each hazard, with the least change of the rules. docs/findings/ has a
\* page for each hazard. HZ4 has no hardening: it only costs candidacies that must fail.
\*
\* A configuration that is hardened against HZ5 has Rule <- HZ5_Rule for all operators of that name.
EXTENDS Replication

\* HZ1. A report counts only as far as it is certainly about this leader's log: in full if it was
\* made in this leader's term; else at most up to the end of the reported term in the leader's own
\* log.
SharedPosition(s, term, own, record) ==
    LET entry == FindTermEntry(s.recordingLog, record.leadershipTermId)
        end   == CASE entry = NoTermEntry -> 0
                   [] entry # NoTermEntry /\ entry.logPosition = NULL_POSITION -> own
                   [] OTHER -> entry.logPosition
    IN  IF record.leadershipTermId = term THEN record.logPosition ELSE Min(record.logPosition, end)

HZ1_CountedPosition(s, term, own, record) == SharedPosition(s, term, own, record)

\* HZ2. A term is opened in the recording log before its first byte is recorded: in a copy, in a
\* catch-up, and where the live log is joined. So every recording has a term.
HZ2_StartReplication(s) ==
    LET opened == IF s.replicationTermBaseLogPosition # NULL_POSITION
                  THEN OpenTerm(s, s.replicationLeadershipTermId, s.replicationTermBaseLogPosition)
                  ELSE s.recordingLog
    IN  [s EXCEPT !.logReplication = TRUE, !.recordingLog = opened,
                  !.logLeadershipTermId = IF opened = s.recordingLog THEN @
                                          ELSE s.replicationLeadershipTermId]

HZ2_JoinReplay(s) ==
    [s EXCEPT !.electionState = "FOLLOWER_CATCHUP",
              !.recordingLog = OpenTerm(s, s.leadershipTermId, s.commitPosition),
              !.logLeadershipTermId = s.leadershipTermId]

HZ2_AwaitsRecording(s) == FALSE

\* HZ3. In CANVASS no leader of a term below the candidate term is followed.
HZ3_IsCanvassingFor(s, m) == s.electionState = "CANVASS" /\ m.leadershipTermId >= s.candidateTermId

\* HZ5. The winner of a term opens it in its recording log at once, at the end of its log, and
\* counts itself at that position in the term. A leader that fails has opened its term already, so
\* INIT reads the last term of the log back. A member whose log ends at the base of the new term
\* opens the term before it reports so.
HZ5_EnterLeaderLogReplication(i, s) ==
    [WinTerm(i, s) EXCEPT
        !.electionState = "LEADER_LOG_REPLICATION",
        !.recordingLog = OpenTerm(s, s.candidateTermId, s.appendPosition),
        !.members = UpdateMemberLogPosition(s.members, i, s.candidateTermId, s.appendPosition)]

HZ5_CleanUp(s) ==
    [s EXCEPT !.members = StopCatchupReplays(s.members),
              !.logLeadershipTermId = IF s.recordingLog # <<>> THEN LastTerm(s.recordingLog) ELSE @]

HZ5_JoinTerm(s, m) ==
    IF s.appendPosition = m.termBaseLogPosition
    THEN [s EXCEPT !.recordingLog = OpenTerm(s, m.leadershipTermId, m.termBaseLogPosition),
                   !.logLeadershipTermId = Max(@, m.leadershipTermId)]
    ELSE s

\* HZ5. Nothing more counts as committed before a quorum has opened the term, that is, before the
\* leader leaves LEADER_LOG_REPLICATION. A member that copies may be needed for that quorum, so it
\* does not wait for the commit. A truncation also removes terms beyond it that a leader without a
\* quorum had opened.
HZ5_IsReplicated(s, active) == HasQuorumAtPosition(s, s.leadershipTermId, s.appendPosition, active)

HZ5_ElectionQuorumPosition(s, active) ==
    IF s.electionState = "LEADER_LOG_REPLICATION" THEN s.commitPosition
    ELSE BoundedQuorumPosition(s, s.leadershipTermId, s.appendPosition, active)

HZ5_IsCopyCommitted(s) == TRUE
HZ5_TermsAfterCut(s, position) == CutTerms(s.recordingLog, position)

\* HZ6. A replay never lowers the log term.
HZ6_LogTermInReplay(s, term) == Max(s.logLeadershipTermId, term)

\* HZ7. Before the log is joined a report has the last term of the reporter's log. Then the leader
\* knows which members have opened its term.
HZ7_ReportedTerm(s, term) == s.logLeadershipTermId

\* HZ8. No term follows a leader's own term.
HZ8_NamesNextTerm(s, logTerm) ==
    FindTermEntry(s.recordingLog, logTerm + 1) # NoTermEntry \/ logTerm >= s.leadershipTermId

\* HZ9. A termination request ends with its term, and is not noted in an election.
ForgetTermination(s) ==
    [s EXCEPT !.terminationPosition = NULL_POSITION, !.terminationLeadershipTermId = NULL_VALUE]

HZ9_LeaveTerm(s) == ForgetTermination(s)
HZ9_MayBeTerminated(s) == Closed(s, "FOLLOWER")

\* HZ10. A copied term ends where its copy ended.
HZ10_CopyEnd(s) == IF s.logReplication THEN s.recordedPosition ELSE s.replicationStopPosition

\* HZ11. A canvass has the sender's candidate term, which is at least every term that it has voted
\* in, in the place of the leadership term. A leader answers a member that has voted in a newer term
\* than its own, and does not note its position. An AppendPosition needs no such rule: by HZ3 a
\* member that follows a leader has voted in no newer term.
HZ11_CanvassedTerm(s) == s.candidateTermId

HasVotedSince(m, term) == m.leadershipTermId > term

HZ11_RecordCanvass(s, m) ==
    IF s.role = "LEADER" /\ HasVotedSince(m, s.leadershipTermId) THEN s
    ELSE Record(s, m.followerMemberId, m.logLeadershipTermId, m.logPosition)

HZ11_NoteCanvass(s, m) ==
    IF HasVotedSince(m, s.moduleLeadershipTermId) THEN s
    ELSE [s EXCEPT !.members = UpdateMemberLogPosition(s.members, m.followerMemberId,
                                                       m.logLeadershipTermId, m.logPosition)]
=============================================================================
