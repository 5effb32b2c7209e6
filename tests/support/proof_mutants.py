"""Mistakes in the modules that are proved, and a lemma or property that each of them breaks."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One mistake: a text of a module and its replacement, and the obligation that fails."""

    name: str
    module: str
    old: str
    new: str
    fails: str


MUTANTS = (
    Mutant(
        "a-second-vote-in-a-term", "Ballots",
        "/\\ current[i] < t\n", "/\\ current[i] <= t\n",
        "Vote/OneVotePerTerm",
    ),
    Mutant(
        "a-vote-in-an-older-term", "Ballots",
        "    /\\ current[i] < t\n", "",
        "Vote/OneVotePerTerm",
    ),
    Mutant(
        "a-vote-that-is-not-on-disk", "Ballots",
        "    /\\ persisted' = [persisted EXCEPT ![i] = t]\n"
        "    /\\ current' = [current EXCEPT ![i] = t]\n\nVote",
        "    /\\ UNCHANGED persisted\n    /\\ current' = [current EXCEPT ![i] = t]\n\nVote",
        "Vote/VotesAreOnDisk",
    ),
    Mutant(
        "a-restart-that-forgets-the-disk", "Ballots",
        "    /\\ persisted[i] <= t\n"
        "    /\\ current' = [current EXCEPT ![i] = t]\n    /\\ UNCHANGED <<persisted,",
        "    /\\ persisted' = [persisted EXCEPT ![i] = t]\n"
        "    /\\ current' = [current EXCEPT ![i] = t]\n    /\\ UNCHANGED <<",
        "Learn/VotesAreOnDisk",
    ),
    Mutant(
        "a-term-in-memory-below-the-disk", "Ballots",
        "    /\\ persisted[i] <= t\n"
        "    /\\ current' = [current EXCEPT ![i] = t]\n    /\\ UNCHANGED",
        "    /\\ current' = [current EXCEPT ![i] = t]\n    /\\ UNCHANGED",
        "Learn/DiskIsNotAhead",
    ),
    Mutant(
        "votes-of-another-term-counted", "Ballots",
        "<<j, current[i], i>> \\in votes", "\\E t \\in Terms : <<j, t, i>> \\in votes",
        "Win/LeadersHaveQuorums",
    ),
    Mutant(
        "votes-for-another-candidate-counted", "Ballots",
        "<<j, current[i], i>> \\in votes", "\\E c \\in Members : <<j, current[i], c>> \\in votes",
        "Win/LeadersHaveQuorums",
    ),
    Mutant(
        "a-member-that-leads-alone-among-others", "Ballots",
        "    /\\ \\A j \\in Members : j = i\n    /\\ persisted", "    /\\ persisted",
        "LeadAlone/LeadersHaveQuorums",
    ),
    Mutant(
        "no-HZ1", "Log",
        "    /\\ lastTerm[i] = t\n    /\\ promised[i] <= t\n    /\\ IsPrefix(i, t)\n"
        "    /\\ base[t] <= end[i]\n    /\\ <<i, t, base[t]>> \\in recordingLog\n",
        "    /\\ promised[i] <= t\n    /\\ base[t] <= end[i]\n    /\\ end[i] <= tip[t]\n",
        "Report/ReportersKeepIt",
    ),
    Mutant(
        "no-HZ2", "Log",
        "<<t, p, x>> \\in stream /\\ p <= n => x <= lastTerm[i]", "TRUE",
        "Copy/LogsAreOfOpenedTerms",
    ),
    Mutant(
        "no-HZ5", "Log",
        "    /\\ lastTerm' = [lastTerm EXCEPT ![i] = x]\n    /\\ recordingLog' = recordingLog \\ {",
        "    /\\ UNCHANGED lastTerm\n    /\\ recordingLog' = recordingLog \\ {",
        "Truncate/RecordingLogsEndWithLastTerm",
    ),
    Mutant(
        "no-HZ6", "Log",
        "    /\\ lastTerm[i] < x\n    /\\ x <= t\n", "    /\\ x <= t\n",
        "Open/RecordingLogsEndWithLastTerm",
    ),
    Mutant(
        "no-HZ7", "Log",
        "    /\\ <<i, t, base[t]>> \\in recordingLog\n", "",
        "Report/ReportersKeepIt",
    ),
    Mutant(
        "no-HZ8", "Log",
        "    /\\ lastTerm[i] < t\n    /\\ n < end[i]\n    /\\ n <= base[t]\n"
        "    /\\ \\A p \\in Positions, y \\in Terms : "
        "<<t, p, y>> \\in stream /\\ n < p => lastTerm[i] < y\n",
        "    /\\ lastTerm[i] <= t\n    /\\ n < end[i]\n    /\\ n <= base[t]\n"
        "    /\\ \\A p \\in Positions, y \\in Terms : "
        "<<t, p, y>> \\in stream /\\ n < p => lastTerm[i] <= y\n",
        "Truncate/ReportersKeepIt",
    ),
    Mutant(
        "no-HZ10", "Log",
        "<<t, p, y>> \\in stream /\\ end[i] < p => x <= y", "TRUE",
        "Open/LaterTermsAreOpenedAboveIt",
    ),
    Mutant(
        "no-HZ11", "Log",
        "    /\\ lastTerm[i] = t\n    /\\ promised[i] <= t\n", "    /\\ lastTerm[i] = t\n",
        "Report/LaterStreamsKeepIt",
    ),
    Mutant(
        "a-vote-for-a-shorter-log", "Log",
        "lastTerm[i] < x \\/ (lastTerm[i] = x /\\ end[i] <= n)", "lastTerm[i] <= x",
        "Vote/CandidatesOfReportersHaveIt",
    ),
    Mutant(
        "a-vote-that-is-forgotten", "Log",
        "    /\\ promised' = [promised EXCEPT ![i] = t]\n    /\\ UNCHANGED <<lastTerm,",
        "    /\\ UNCHANGED <<promised, lastTerm,",
        "Vote/VotesArePromised",
    ),
    Mutant(
        "a-truncation-that-keeps-the-recording-log", "Log",
        "    /\\ recordingLog' = recordingLog \\ "
        "{<<j, y, b>> \\in Members \\X Terms \\X Positions :\n"
        "                                           j = i /\\ n < b}\n    /\\ UNCHANGED <<",
        "    /\\ UNCHANGED <<recordingLog, ",
        "Truncate/RecordingLogsEndWithLastTerm",
    ),
    Mutant(
        "a-commit-without-a-quorum", "Log",
        "    /\\ \\A j \\in Members : j \\in Q => <<j, t, p>> \\in reports\n",
        "    /\\ \\E j \\in Members : j \\in Q /\\ <<j, t, p>> \\in reports\n",
        "Commit/CommitsHaveQuorums",
    ),
    Mutant(
        "a-second-winner-of-a-term", "Log",
        "    /\\ t \\notin elected\n", "",
        "Win/ReportsAreInTheStream",
    ),
)  # fmt: skip
