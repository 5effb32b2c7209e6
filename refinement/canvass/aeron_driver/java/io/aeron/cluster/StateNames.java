package io.aeron.cluster;

/** The columns of a state that the driver sets or reads. */
final class StateNames {
    final int persistedCandidateTermId;
    final int recordedPosition;
    final int snapshotLeadershipTermId;
    final int snapshotTermBaseLogPosition;
    final int snapshotLogPosition;
    final int moduleState;
    final int role;
    final int moduleLeadershipTermId;
    final int moduleNotifiedCommitPosition;
    final int commitPosition;
    final int publicationPosition;
    final int logSubscription;
    final int catchupDestination;
    final int terminationPosition;
    final int terminationLeadershipTermId;
    final int leaderMemberId;
    final int electionState;
    final int logLeadershipTermId;
    final int leadershipTermId;
    final int candidateTermId;
    final int appendPosition;
    final int notifiedCommitPosition;
    final int catchupJoinPosition;
    final int replicationLeadershipTermId;
    final int replicationStopPosition;
    final int replicationTermBaseLogPosition;
    final int logReplication;
    final int replayStopPosition;
    final int gracefulClosedLeaderId;
    final int count;

    StateNames(final Layout layout) {
        persistedCandidateTermId = layout.index("state", "persisted_candidate_term_id");
        recordedPosition = layout.index("state", "recorded_position");
        snapshotLeadershipTermId = layout.index("state", "snapshot_leadership_term_id");
        snapshotTermBaseLogPosition = layout.index("state", "snapshot_term_base_log_position");
        snapshotLogPosition = layout.index("state", "snapshot_log_position");
        moduleState = layout.index("state", "module_state");
        role = layout.index("state", "role");
        moduleLeadershipTermId = layout.index("state", "module_leadership_term_id");
        moduleNotifiedCommitPosition = layout.index("state", "module_notified_commit_position");
        commitPosition = layout.index("state", "commit_position");
        publicationPosition = layout.index("state", "publication_position");
        logSubscription = layout.index("state", "log_subscription");
        catchupDestination = layout.index("state", "catchup_destination");
        terminationPosition = layout.index("state", "termination_position");
        terminationLeadershipTermId = layout.index("state", "termination_leadership_term_id");
        leaderMemberId = layout.index("state", "leader_member_id");
        electionState = layout.index("state", "election_state");
        logLeadershipTermId = layout.index("state", "log_leadership_term_id");
        leadershipTermId = layout.index("state", "leadership_term_id");
        candidateTermId = layout.index("state", "candidate_term_id");
        appendPosition = layout.index("state", "append_position");
        notifiedCommitPosition = layout.index("state", "notified_commit_position");
        catchupJoinPosition = layout.index("state", "catchup_join_position");
        replicationLeadershipTermId = layout.index("state", "replication_leadership_term_id");
        replicationStopPosition = layout.index("state", "replication_stop_position");
        replicationTermBaseLogPosition = layout.index("state", "replication_term_base_log_position");
        logReplication = layout.index("state", "log_replication");
        replayStopPosition = layout.index("state", "replay_stop_position");
        gracefulClosedLeaderId = layout.index("state", "graceful_closed_leader_id");
        count = layout.list("state").size();
    }
}
