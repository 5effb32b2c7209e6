------------------------------ MODULE Encoding ------------------------------
\* States, inputs, messages and outcomes as tuples of small integers, and back. This is the form in
\* which TLC prints edges and reads steps.
\*
\* The fields have the order of the Python classes with the same names, except the two lists of a
\* state, which are at the end. A name is the number of its place, from 0, in one of the tables. A
\* truth value is 0 or 1. A set of members is the sum of 2^j for its members j. Null is -1.
\*
\* Left out: numbers out of range, and names that are not in the tables. This is sound, because
\* Decode only reads validated tuples.
EXTENDS Member

RoleTable == <<"FOLLOWER", "CANDIDATE", "LEADER">>

ModuleStateTable == <<"ACTIVE", "CLOSED">>

Codes(table) ==
    [name \in {table[k] : k \in DOMAIN table} |-> (CHOOSE k \in DOMAIN table : table[k] = name) - 1]

ElectionStateCode == Codes(ElectionStateTable)
RoleCode == Codes(RoleTable)
ModuleStateCode == Codes(ModuleStateTable)

Bit(b) == IF b THEN 1 ELSE 0

SetOf(mask) == {j \in Members : (mask \div (2 ^ j)) % 2 = 1}
MaskTable == [k \in 1 .. (2 ^ MemberCount) |-> SetOf(k - 1)]
MaskCode == Codes(MaskTable)

-----------------------------------------------------------------------------
\* A message is the number of its type and then its fields; -1 is no message.
EncodeMessage(m) ==
    CASE m.type = "None" -> <<-1>>
      [] m.type = "CanvassPosition" ->
            <<0, m.logLeadershipTermId, m.logPosition, m.leadershipTermId, m.followerMemberId>>
      [] m.type = "RequestVote" ->
            <<1, m.logLeadershipTermId, m.logPosition, m.candidateTermId, m.candidateMemberId>>
      [] m.type = "Vote" ->
            <<2, m.candidateTermId, m.logLeadershipTermId, m.logPosition, m.candidateMemberId,
              m.followerMemberId, Bit(m.vote)>>
      [] m.type = "NewLeadershipTerm" ->
            <<3, m.logLeadershipTermId, m.nextLeadershipTermId, m.nextTermBaseLogPosition,
              m.nextLogPosition, m.leadershipTermId, m.termBaseLogPosition, m.logPosition,
              m.commitPosition, m.leaderMemberId>>
      [] m.type = "AppendPosition" ->
            <<4, m.leadershipTermId, m.logPosition, m.followerMemberId, m.flags>>
      [] m.type = "CommitPosition" -> <<5, m.leadershipTermId, m.logPosition, m.leaderMemberId>>
      [] m.type = "CatchupPosition" -> <<6, m.leadershipTermId, m.logPosition, m.followerMemberId>>
      [] m.type = "StopCatchup" -> <<7, m.leadershipTermId, m.followerMemberId>>
      [] m.type = "TerminationPosition" -> <<8, m.leadershipTermId, m.logPosition>>
      [] m.type = "TerminationAck" -> <<9, m.leadershipTermId, m.logPosition, m.memberId>>

DecodeMessage(r, k) ==
    CASE r[k] = -1 -> NoMessage
      [] r[k] = 0 -> CanvassPosition(r[k + 1], r[k + 2], r[k + 3], r[k + 4])
      [] r[k] = 1 -> RequestVote(r[k + 1], r[k + 2], r[k + 3], r[k + 4])
      [] r[k] = 2 -> Vote(r[k + 1], r[k + 2], r[k + 3], r[k + 4], r[k + 5], r[k + 6] = 1)
      [] r[k] = 3 -> NewLeadershipTerm(r[k + 1], r[k + 2], r[k + 3], r[k + 4], r[k + 5], r[k + 6],
                                       r[k + 7], r[k + 8], r[k + 9])
      [] r[k] = 4 -> AppendPosition(r[k + 1], r[k + 2], r[k + 3], r[k + 4])
      [] r[k] = 5 -> CommitPosition(r[k + 1], r[k + 2], r[k + 3])
      [] r[k] = 6 -> CatchupPosition(r[k + 1], r[k + 2], r[k + 3])
      [] r[k] = 7 -> StopCatchup(r[k + 1], r[k + 2])
      [] r[k] = 8 -> TerminationPosition(r[k + 1], r[k + 2])
      [] r[k] = 9 -> TerminationAck(r[k + 1], r[k + 2], r[k + 3])

\* The number of integers of a message, by the number of its type.
MessageWidths == <<5, 5, 7, 10, 5, 4, 4, 3, 3, 4>>

AfterMessage(r, k) == k + (IF r[k] = -1 THEN 1 ELSE MessageWidths[r[k] + 1])

EncodeSends(sends) ==
    <<Len(sends), [k \in DOMAIN sends |-> <<sends[k].to, EncodeMessage(sends[k].message)>>]>>

RECURSIVE DecodeSome(_, _, _)
DecodeSome(r, k, count) ==
    IF count = 0 THEN <<>>
    ELSE <<[to |-> r[k], message |-> DecodeMessage(r, k + 1)]>>
         \o DecodeSome(r, AfterMessage(r, k + 1), count - 1)

DecodeSends(r, k) == DecodeSome(r, k + 1, r[k])

-----------------------------------------------------------------------------
\* An input is its facts and then its message.
InputWidth == 10

EncodeInput(x) ==
    <<Bit(x.interval), Bit(x.commitInterval), Bit(x.timeout), MaskCode[x.active],
      MaskCode[x.accepted], x.position, x.entryPosition, x.leadershipTermId,
      x.termBaseLogPosition, x.gracefulClosedLeaderId, EncodeMessage(x.message)>>

DecodeInput(r, k) ==
    [message                |-> DecodeMessage(r, k + InputWidth),
     interval               |-> r[k] = 1,
     commitInterval         |-> r[k + 1] = 1,
     timeout                |-> r[k + 2] = 1,
     active                 |-> SetOf(r[k + 3]),
     accepted               |-> SetOf(r[k + 4]),
     position               |-> r[k + 5],
     entryPosition          |-> r[k + 6],
     leadershipTermId       |-> r[k + 7],
     termBaseLogPosition    |-> r[k + 8],
     gracefulClosedLeaderId |-> r[k + 9]]

AfterInput(r, k) == AfterMessage(r, k + InputWidth)

-----------------------------------------------------------------------------
\* A state is its single fields, then the record of each member, then the length of the recording
\* log and its entries.
StateWidth == 29
RecordWidth == 6

EncodeRecord(r) ==
    <<r.leadershipTermId, r.logPosition, r.candidateTermId, r.vote, Bit(r.ballotSent),
      Bit(r.catchupReplay)>>

EncodeEntry(e) == <<e.leadershipTermId, e.termBaseLogPosition, e.logPosition>>

EncodeState(s) ==
    <<s.persistedCandidateTermId, s.recordedPosition, s.snapshotLeadershipTermId,
      s.snapshotTermBaseLogPosition, s.snapshotLogPosition, ModuleStateCode[s.moduleState],
      RoleCode[s.role], s.moduleLeadershipTermId, s.moduleNotifiedCommitPosition, s.commitPosition,
      s.publicationPosition, Bit(s.logSubscription), Bit(s.catchupDestination),
      s.terminationPosition, s.terminationLeadershipTermId, s.leaderMemberId,
      ElectionStateCode[s.electionState], s.logLeadershipTermId, s.leadershipTermId,
      s.candidateTermId, s.appendPosition, s.notifiedCommitPosition, s.catchupJoinPosition,
      s.replicationLeadershipTermId, s.replicationStopPosition, s.replicationTermBaseLogPosition,
      Bit(s.logReplication), s.replayStopPosition, s.gracefulClosedLeaderId,
      [k \in 1 .. MemberCount |-> EncodeRecord(s.members[k - 1])],
      Len(s.recordingLog),
      [k \in DOMAIN s.recordingLog |-> EncodeEntry(s.recordingLog[k])]>>

DecodeRecord(r, k) ==
    [leadershipTermId |-> r[k],
     logPosition      |-> r[k + 1],
     candidateTermId  |-> r[k + 2],
     vote             |-> r[k + 3],
     ballotSent       |-> r[k + 4] = 1,
     catchupReplay    |-> r[k + 5] = 1]

LogStart(k) == k + StateWidth + RecordWidth * MemberCount

DecodeState(r, k) ==
    [persistedCandidateTermId       |-> r[k],
     recordedPosition               |-> r[k + 1],
     snapshotLeadershipTermId       |-> r[k + 2],
     snapshotTermBaseLogPosition    |-> r[k + 3],
     snapshotLogPosition            |-> r[k + 4],
     moduleState                    |-> ModuleStateTable[r[k + 5] + 1],
     role                           |-> RoleTable[r[k + 6] + 1],
     moduleLeadershipTermId         |-> r[k + 7],
     moduleNotifiedCommitPosition   |-> r[k + 8],
     commitPosition                 |-> r[k + 9],
     publicationPosition            |-> r[k + 10],
     logSubscription                |-> r[k + 11] = 1,
     catchupDestination             |-> r[k + 12] = 1,
     terminationPosition            |-> r[k + 13],
     terminationLeadershipTermId    |-> r[k + 14],
     leaderMemberId                 |-> r[k + 15],
     electionState                  |-> ElectionStateTable[r[k + 16] + 1],
     logLeadershipTermId            |-> r[k + 17],
     leadershipTermId               |-> r[k + 18],
     candidateTermId                |-> r[k + 19],
     appendPosition                 |-> r[k + 20],
     notifiedCommitPosition         |-> r[k + 21],
     catchupJoinPosition            |-> r[k + 22],
     replicationLeadershipTermId    |-> r[k + 23],
     replicationStopPosition        |-> r[k + 24],
     replicationTermBaseLogPosition |-> r[k + 25],
     logReplication                 |-> r[k + 26] = 1,
     replayStopPosition             |-> r[k + 27],
     gracefulClosedLeaderId         |-> r[k + 28],
     members |-> [j \in Members |-> DecodeRecord(r, k + StateWidth + RecordWidth * j)],
     recordingLog |-> [n \in 1 .. r[LogStart(k)] |->
        TermEntry(r[LogStart(k) + 3 * n - 2], r[LogStart(k) + 3 * n - 1], r[LogStart(k) + 3 * n])]]

\* The place after a state that begins at place k.
AfterState(r, k) == LogStart(k) + 3 * r[LogStart(k)] + 1

-----------------------------------------------------------------------------
\* Tuples of integers as strings. The parser of TLA+ is slow for each number of a literal, and fast
\* for a string.
\*
\* The first digit is the number of digits of each number: one, for numbers from -8, or six. The
\* highest digit comes first.
DigitTable == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

Digit ==
    [c \in {SubSeq(DigitTable, k, k) : k \in 1 .. 64} |->
        (CHOOSE k \in 1 .. 64 : SubSeq(DigitTable, k, k) = c) - 1]

SHORT_OFFSET == 8
LONG_OFFSET == 1073741824

IntegersOf(text) ==
    LET d(k) == Digit[SubSeq(text, k, k)]
        long(k) == ((((d(k) * 64 + d(k + 1)) * 64 + d(k + 2)) * 64 + d(k + 3)) * 64
                     + d(k + 4)) * 64 + d(k + 5)
    IN  IF d(1) = 1 THEN [k \in 1 .. (Len(text) - 1) |-> d(k + 1) - SHORT_OFFSET]
        ELSE [k \in 1 .. ((Len(text) - 1) \div 6) |-> long(6 * k - 4) - LONG_OFFSET]
=============================================================================
