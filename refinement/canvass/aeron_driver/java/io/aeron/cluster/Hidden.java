package io.aeron.cluster;

/**
 * State of Aeron that the spec does not have, which may be anything when a step is taken: a mask of departures from
 * what the driver otherwise sets.
 */
record Hidden(int mask) {
    /** A recording of the log exists, with nothing in it. */
    static final int EMPTY_RECORDING = 1;
    /** The module is suspended by an operator. */
    static final int SUSPENDED = 1 << 1;
    /** The quorum position has gone backwards before. */
    static final int BACKTRACKED = 1 << 2;
    /** The live destination was added already. */
    static final int LIVE_DESTINATION = 1 << 3;
    /** Records of members hold what they held before the spec forgot it. */
    static final int STALE_RECORDS = 1 << 4;
    /** What following a leader left in the election, in states that do not follow. */
    static final int STALE_FOLLOWING = 1 << 5;
    /** The election began when the process started. */
    static final int NODE_STARTUP = 1 << 6;
    /** The election began in the module's term, not at the snapshot. */
    static final int INITIAL_TERM_OF_MODULE = 1 << 7;
    /** The position from which replay or catch-up began lies before the commit position. */
    static final int REPLAY_BEGAN_EARLIER = 1 << 8;
    /** Replay and copy have not been closed yet when an election begins again after an error. */
    static final int WORK_TO_CLOSE = 1 << 9;
    /** The archive takes until the next duty cycle to begin a recording that it is asked for. */
    static final int SLOW_RECORDING = 1 << 10;
    /** The image of the log joins at another position than the own log ends at. */
    static final int JOINS_ELSEWHERE = 1 << 11;
    /** The member has taken note of the termination position as a follower, and asked for nothing itself. */
    static final int TERMINATION_NOTED = 1 << 12;

    boolean has(final int bit) {
        return (mask & bit) != 0;
    }
}
