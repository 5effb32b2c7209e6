-------------------------------- MODULE Log --------------------------------
\* The replicated log of the hardened protocol, without messages and without the states of an
\* election. `canvass prove Log` shows with Z3 that Lemmas is inductive and implies Safety, for any
\* number of members, terms and entries.
\*
\* Each action is what one member does, or what the leader of a term does. An action has the guards
\* that the proof needs. A guard that a hardening adds to the protocol names it. HZ3 is absent: no
\* lemma needs it.
\*
\* Terms and Positions are any total orders with a least element, written -1 and 0. Nothing here
\* adds one: an entry has any length, and a leader writes, and a follower copies, any number of
\* entries at once.
\*
\* Assumed: the log of a member that opens, copies or reports a term is a prefix of the leader's
\* (IsPrefix). How a follower and a leader find their common prefix is in Replication.tla, and
\* bounded models check it.
EXTENDS Integers

CONSTANTS Members, Terms, Positions, Quorums

ASSUME QuorumsOverlap ==
    \A P, Q \in Quorums : \E i \in Members : i \in P /\ i \in Q

VARIABLES
    promised,      \* the newest term in which the member has voted or led
    lastTerm,      \* the last term of the member's recording log
    end,           \* the end of the member's log
    log,           \* <<member, position, term>> of each entry in a log
    recordingLog,  \* <<member, term, base>> of each entry in a recording log
    votes,         \* <<voter, term, candidate, its last term, its end>>
    elected,       \* the terms in which a ballot was won
    base,          \* where an elected term begins
    tip,           \* how far the leader of an elected term has written
    stream,        \* <<elected term, position, term>>: the leader's log
    reports,       \* <<member, term, position>>: counted by the term's leader
    committed      \* <<term, position>>: committed by the term's leader

vars == <<promised, lastTerm, end, log, recordingLog, votes, elected, base, tip,
          stream, reports, committed>>

TypeOK ==
    /\ promised \in [Members -> Terms]
    /\ lastTerm \in [Members -> Terms]
    /\ end \in [Members -> Positions]
    /\ log \subseteq (Members \X Positions \X Terms)
    /\ recordingLog \subseteq (Members \X Terms \X Positions)
    /\ votes \subseteq (Members \X Terms \X Members \X Terms \X Positions)
    /\ elected \subseteq Terms
    /\ base \in [Terms -> Positions]
    /\ tip \in [Terms -> Positions]
    /\ stream \subseteq (Terms \X Positions \X Terms)
    /\ reports \subseteq (Members \X Terms \X Positions)
    /\ committed \subseteq (Terms \X Positions)

Init ==
    /\ \A i \in Members : promised[i] = -1 /\ lastTerm[i] = -1 /\ end[i] = 0
    /\ recordingLog = {<<i, t, p>> \in Members \X Terms \X Positions : t = -1 /\ p = 0}
    /\ log = {}
    /\ votes = {}
    /\ elected = {}
    /\ stream = {}
    /\ reports = {}
    /\ committed = {}
-----------------------------------------------------------------------------
\* The log of i is a prefix of the log of the leader of term t.
IsPrefix(i, t) ==
    /\ end[i] <= tip[t]
    /\ \A p \in Positions, x \in Terms :
           p <= end[i] => (<<i, p, x>> \in log <=> <<t, p, x>> \in stream)

\* i votes in term t for candidate c, whose log ends with term x at n.
Vote(i, t, c, x, n) ==
    /\ promised[i] < t
    /\ lastTerm[i] < x \/ (lastTerm[i] = x /\ end[i] <= n)
    /\ votes' = votes \cup {<<i, t, c, x, n>>}
    /\ promised' = [promised EXCEPT ![i] = t]
    /\ UNCHANGED <<lastTerm, end, log, recordingLog, elected, base, tip, stream,
                   reports, committed>>

\* c leads term t, and opens it at once (HZ5).
Win(c, t, Q) ==
    /\ promised[c] <= t
    /\ lastTerm[c] < t
    /\ t \notin elected
    /\ \A j \in Members : j \in Q => <<j, t, c, lastTerm[c], end[c]>> \in votes
    /\ elected' = elected \cup {t}
    /\ base' = [base EXCEPT ![t] = end[c]]
    /\ tip' = [tip EXCEPT ![t] = end[c]]
    /\ stream' = stream \cup {<<u, p, x>> \in Terms \X Positions \X Terms :
                                  u = t /\ <<c, p, x>> \in log}
    /\ promised' = [promised EXCEPT ![c] = t]
    /\ lastTerm' = [lastTerm EXCEPT ![c] = t]
    /\ recordingLog' = recordingLog \cup {<<c, t, end[c]>>}
    /\ UNCHANGED <<end, log, votes, reports, committed>>

\* The leader of term t appends entries up to position n. It records them like a follower, by Copy.
Append(t, n) ==
    /\ t \in elected
    /\ tip[t] < n
    /\ tip' = [tip EXCEPT ![t] = n]
    /\ stream' = stream \cup {<<u, p, x>> \in Terms \X Positions \X Terms :
                                  u = t /\ x = t /\ tip[t] < p /\ p <= n}
    /\ UNCHANGED <<promised, lastTerm, end, log, recordingLog, votes, elected, base,
                   reports, committed>>

\* i follows the leader of term t, and opens a term x of the leader's log: only when it has all
\* entries of older terms (HZ10), and never an older term than its last (HZ6).
Open(i, t, x) ==
    /\ t \in elected
    /\ lastTerm[i] < x
    /\ x <= t
    /\ IsPrefix(i, t)
    /\ end[i] <= base[t]
    /\ \A p \in Positions, y \in Terms : <<t, p, y>> \in stream /\ end[i] < p => x <= y
    /\ lastTerm' = [lastTerm EXCEPT ![i] = x]
    /\ recordingLog' = recordingLog \cup {<<i, x, end[i]>>}
    /\ UNCHANGED <<promised, end, log, votes, elected, base, tip, stream, reports,
                   committed>>

\* i records the leader's entries up to position n, none of them of a term that i has not opened
\* (HZ2).
Copy(i, t, n) ==
    /\ t \in elected
    /\ lastTerm[i] <= t
    /\ IsPrefix(i, t)
    /\ end[i] < n
    /\ n <= tip[t]
    /\ \A p \in Positions, x \in Terms : <<t, p, x>> \in stream /\ p <= n => x <= lastTerm[i]
    /\ end' = [end EXCEPT ![i] = n]
    /\ log' = log \cup {<<j, p, x>> \in Members \X Positions \X Terms :
                            j = i /\ end[i] < p /\ p <= n /\ <<t, p, x>> \in stream}
    /\ UNCHANGED <<promised, lastTerm, recordingLog, votes, elected, base, tip, stream,
                   reports, committed>>

\* i truncates its log to position n, where the leader's next term begins; x is then the last term
\* of its recording log (HZ5). A log is never truncated in the leader's own term (HZ8).
Truncate(i, t, n, x) ==
    /\ t \in elected
    /\ lastTerm[i] < t
    /\ n < end[i]
    /\ n <= base[t]
    /\ \A p \in Positions, y \in Terms : <<t, p, y>> \in stream /\ n < p => lastTerm[i] < y
    /\ \E b \in Positions : <<i, x, b>> \in recordingLog /\ b <= n
    /\ \A y \in Terms, b \in Positions : <<i, y, b>> \in recordingLog /\ b <= n => y <= x
    /\ end' = [end EXCEPT ![i] = n]
    /\ log' = log \ {<<j, p, y>> \in Members \X Positions \X Terms : j = i /\ n < p}
    /\ lastTerm' = [lastTerm EXCEPT ![i] = x]
    /\ recordingLog' = recordingLog \ {<<j, y, b>> \in Members \X Terms \X Positions :
                                           j = i /\ n < b}
    /\ UNCHANGED <<promised, votes, elected, base, tip, stream, reports, committed>>

\* The leader of term t counts the position of i. The log of i is of this term, which i has opened
\* (HZ1, HZ7), and i has voted in no newer term (HZ11).
Report(i, t) ==
    /\ t \in elected
    /\ lastTerm[i] = t
    /\ promised[i] <= t
    /\ IsPrefix(i, t)
    /\ base[t] <= end[i]
    /\ <<i, t, base[t]>> \in recordingLog
    /\ reports' = reports \cup {<<j, u, p>> \in Members \X Terms \X Positions :
                                    j = i /\ u = t /\ base[t] <= p /\ p <= end[i]}
    /\ UNCHANGED <<promised, lastTerm, end, log, recordingLog, votes, elected, base, tip,
                   stream, committed>>

Commit(t, p, Q) ==
    /\ t \in elected
    /\ \A j \in Members : j \in Q => <<j, t, p>> \in reports
    /\ committed' = committed \cup {<<t, p>>}
    /\ UNCHANGED <<promised, lastTerm, end, log, recordingLog, votes, elected, base, tip,
                   stream, reports>>

Next ==
    \/ \E i, c \in Members, t, x \in Terms, n \in Positions : Vote(i, t, c, x, n)
    \/ \E c \in Members, t \in Terms, Q \in Quorums : Win(c, t, Q)
    \/ \E t \in Terms, n \in Positions : Append(t, n)
    \/ \E i \in Members, t, x \in Terms : Open(i, t, x)
    \/ \E i \in Members, t \in Terms, n \in Positions : Copy(i, t, n)
    \/ \E i \in Members, t, x \in Terms, n \in Positions : Truncate(i, t, n, x)
    \/ \E i \in Members, t \in Terms : Report(i, t)
    \/ \E t \in Terms, p \in Positions, Q \in Quorums : Commit(t, p, Q)

Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
SameStream(t, u, p) ==
    \A q \in Positions, x \in Terms :
        q <= p => (<<t, q, x>> \in stream <=> <<u, q, x>> \in stream)

HasStream(i, u, p) ==
    /\ p <= end[i]
    /\ \A q \in Positions, x \in Terms :
           q <= p => (<<i, q, x>> \in log <=> <<u, q, x>> \in stream)

\* The leader of term u may still count a quorum at position p.
MayCommit(u, p) ==
    \E Q \in Quorums : \A j \in Members : j \in Q => <<j, u, p>> \in reports \/ promised[j] <= u

\* Each quorum has a member that has promised a newer term than u.
IsLeft(u) == \A Q \in Quorums : \E j \in Members : j \in Q /\ u < promised[j]

\* Safety.
StateMachineSafety ==
    \A t, u \in Terms, p, q \in Positions :
        <<t, p>> \in committed /\ <<u, q>> \in committed =>
            \A r \in Positions, x \in Terms :
                r <= p /\ r <= q => (<<t, r, x>> \in stream <=> <<u, r, x>> \in stream)

LeaderCompleteness ==
    \A t, u \in Terms, p \in Positions :
        t \in elected /\ <<u, p>> \in committed /\ u < t => p <= base[t] /\ SameStream(t, u, p)

CommittedIsDurable ==
    \A u \in Terms, p \in Positions :
        <<u, p>> \in committed =>
            \E Q \in Quorums : \A j \in Members : j \in Q => HasStream(j, u, p)

Safety ==
    /\ StateMachineSafety
    /\ LeaderCompleteness
    /\ CommittedIsDurable

\* Lemmas about votes and elected terms.
VotesArePromised ==
    \A i, c \in Members, t, x \in Terms, n \in Positions :
        <<i, t, c, x, n>> \in votes => t <= promised[i]

ElectedTermsLeaveOlderTerms == \A t, u \in Terms : t \in elected /\ u < t => IsLeft(u)

NoLeaderInLeastTerm == -1 \notin elected

\* Lemmas about the shape of streams, logs and recording logs.
StreamsHaveOwnTermFromBase ==
    \A t, x \in Terms, p \in Positions :
        <<t, p, x>> \in stream =>
            t \in elected /\ x <= t /\ 0 < p /\ p <= tip[t] /\ (x = t <=> base[t] < p)

StreamsHaveOneEntryAtAPosition ==
    \A t, x, y \in Terms, p \in Positions :
        <<t, p, x>> \in stream /\ <<t, p, y>> \in stream => x = y

StreamsHaveNoGap ==
    \A t \in Terms, p \in Positions :
        t \in elected /\ 0 < p /\ p <= tip[t] => \E x \in Terms : <<t, p, x>> \in stream

TermsBeginBeforeTheirTip == \A t \in Terms : t \in elected => base[t] <= tip[t]

LogsAreOfOpenedTerms ==
    \A i \in Members, p \in Positions, x \in Terms :
        <<i, p, x>> \in log =>
            /\ 0 < p /\ p <= end[i] /\ x <= lastTerm[i]
            /\ \E y \in Terms, b \in Positions : <<i, y, b>> \in recordingLog /\ b < p /\ x <= y

LogsHaveOneEntryAtAPosition ==
    \A i \in Members, p \in Positions, x, y \in Terms :
        <<i, p, x>> \in log /\ <<i, p, y>> \in log => x = y

LogsHaveNoGap ==
    \A i \in Members, p \in Positions :
        0 < p /\ p <= end[i] => \E x \in Terms : <<i, p, x>> \in log

RecordingLogsEndWithLastTerm ==
    /\ \A i \in Members, x \in Terms, b \in Positions :
           <<i, x, b>> \in recordingLog => x <= lastTerm[i] /\ b <= end[i]
    /\ \A i \in Members : \E b \in Positions : <<i, lastTerm[i], b>> \in recordingLog
    /\ \A i \in Members : <<i, -1, 0>> \in recordingLog

ReportsAreInTheStream ==
    \A i \in Members, t \in Terms, p \in Positions :
        <<i, t, p>> \in reports => t \in elected /\ base[t] <= p /\ p <= tip[t]

CommitsHaveQuorums ==
    \A t \in Terms, p \in Positions :
        <<t, p>> \in committed =>
            t \in elected /\ \E Q \in Quorums : \A j \in Members : j \in Q => <<j, t, p>> \in reports

\* The argument: what a leader may still commit is in every later stream, and in the log of each
\* member that has reported it.
LaterStreamsKeepIt ==
    \A t, u \in Terms, p \in Positions :
        t \in elected /\ u \in elected /\ u < t /\ MayCommit(u, p) =>
            p <= base[t] /\ SameStream(t, u, p)

CandidatesOfReportersHaveIt ==
    \A i, c \in Members, t, x, u \in Terms, n, p \in Positions :
        <<i, t, c, x, n>> \in votes /\ u < t /\ <<i, u, p>> \in reports /\ MayCommit(u, p) =>
            u < x \/ (u = x /\ p <= n)

ReportersKeepIt ==
    \A i \in Members, u \in Terms, p \in Positions :
        <<i, u, p>> \in reports /\ MayCommit(u, p) =>
            HasStream(i, u, p) /\ <<i, u, base[u]>> \in recordingLog

LaterTermsAreOpenedAboveIt ==
    \A i \in Members, x, u \in Terms, b, p \in Positions :
        <<i, x, b>> \in recordingLog /\ u \in elected /\ u < x /\ MayCommit(u, p) =>
            p <= b /\ HasStream(i, u, p)

OpenedTermsAreLeftOrFollowed ==
    \A i \in Members, u \in Terms, b \in Positions :
        <<i, u, b>> \in recordingLog =>
            u = -1 \/ IsLeft(u) \/ (u \in elected /\ u = lastTerm[i] /\ IsPrefix(i, u))

LogsOfATermHaveIt ==
    \A i \in Members, u \in Terms, b, p \in Positions :
        <<i, u, b>> \in recordingLog /\ u \in elected /\ MayCommit(u, p) /\ p <= end[i] =>
            HasStream(i, u, p)

OpenedTermsLeaveOlderTerms ==
    \A i \in Members, x, u \in Terms, b \in Positions :
        <<i, x, b>> \in recordingLog /\ u < x => IsLeft(u)

Lemmas ==
    /\ VotesArePromised
    /\ ElectedTermsLeaveOlderTerms
    /\ NoLeaderInLeastTerm
    /\ StreamsHaveOwnTermFromBase
    /\ StreamsHaveOneEntryAtAPosition
    /\ StreamsHaveNoGap
    /\ TermsBeginBeforeTheirTip
    /\ LogsAreOfOpenedTerms
    /\ LogsHaveOneEntryAtAPosition
    /\ LogsHaveNoGap
    /\ RecordingLogsEndWithLastTerm
    /\ ReportsAreInTheStream
    /\ CommitsHaveQuorums
    /\ LaterStreamsKeepIt
    /\ CandidatesOfReportersHaveIt
    /\ ReportersKeepIt
    /\ LaterTermsAreOpenedAboveIt
    /\ OpenedTermsAreLeftOrFollowed
    /\ LogsOfATermHaveIt
    /\ OpenedTermsLeaveOlderTerms
=============================================================================
