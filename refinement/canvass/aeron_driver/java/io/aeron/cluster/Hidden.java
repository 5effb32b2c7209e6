package io.aeron.cluster;

/**
 * State of Aeron that the spec does not have, and that may have any value before a step: a mask of departures from the
 * driver's usual values.
 */
record Hidden(int mask) {
    /** A recording of the log exists, and it is empty. */
    static final int EMPTY_RECORDING = 1;
    /** An operator has suspended the module. */
    static final int SUSPENDED = 1 << 1;
    /** The quorum position has gone backwards before. */
    static final int BACKTRACKED = 1 << 2;
    /** The live destination was added already. */
    static final int LIVE_DESTINATION = 1 << 3;
    /** Records of members hold old values that the spec has reset. */
    static final int STALE_RECORDS = 1 << 4;
    /** In a state that does not follow a leader, the election has positions of an earlier catch-up or copy. */
    static final int STALE_FOLLOWING = 1 << 5;
    /** The election began when the process started. */
    static final int NODE_STARTUP = 1 << 6;
    /** The election began in the module's term, not at the snapshot. */
    static final int INITIAL_TERM_OF_MODULE = 1 << 7;
    /** Replay or catch-up began before the commit position. */
    static final int REPLAY_BEGAN_EARLIER = 1 << 8;
    /** After an error an election begins again while replay and copy are still open. */
    static final int WORK_TO_CLOSE = 1 << 9;

    boolean has(final int bit) {
        return (mask & bit) != 0;
    }
}
