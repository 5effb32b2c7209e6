package io.aeron.cluster;

/** The places of all cells in a request and in an answer; {@code driver.py} defines the same. */
final class Cells {
    final int members;
    final int logCapacity;
    final int sendCapacity;
    final int messageWidth;
    final int inputStart;
    final int messageStart;
    final int stateStart;
    final int requestWidth;
    final int answerState;
    final int answerSends;
    final int answerWidth;
    final int recordsOffset;
    final int recordWidth;
    final int logOffset;
    final int interval;
    final int commitInterval;
    final int timeout;
    final int active;
    final int accepted;
    final int position;
    final int leadershipTermId;
    final int termBaseLogPosition;
    final int gracefulClosedLeaderId;

    Cells(final Layout layout) {
        members = layout.number("members");
        logCapacity = layout.number("log-capacity");
        sendCapacity = layout.number("send-capacity");
        messageWidth = 1 + layout.list("message").size();
        recordWidth = layout.list("record").size();
        recordsOffset = layout.list("state").size();
        logOffset = recordsOffset + members * recordWidth;
        final int stateWidth = logOffset + 1 + 3 * logCapacity;
        inputStart = 2;
        messageStart = inputStart + layout.list("input").size();
        stateStart = messageStart + messageWidth;
        requestWidth = stateStart + stateWidth;
        answerState = 1;
        answerSends = answerState + stateWidth;
        answerWidth = answerSends + 1 + sendCapacity * (1 + messageWidth);
        interval = inputStart + layout.index("input", "interval");
        commitInterval = inputStart + layout.index("input", "commit_interval");
        timeout = inputStart + layout.index("input", "timeout");
        active = inputStart + layout.index("input", "active");
        accepted = inputStart + layout.index("input", "accepted");
        position = inputStart + layout.index("input", "position");
        leadershipTermId = inputStart + layout.index("input", "leadership_term_id");
        termBaseLogPosition = inputStart + layout.index("input", "term_base_log_position");
        gracefulClosedLeaderId = inputStart + layout.index("input", "graceful_closed_leader_id");
    }
}
