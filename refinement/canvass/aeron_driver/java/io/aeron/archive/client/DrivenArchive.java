package io.aeron.archive.client;

import io.aeron.Allocation;
import io.aeron.DrivenAeron;
import io.aeron.DrivenPublication;
import io.aeron.archive.codecs.SourceLocation;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersManager;

/**
 * An archive with the recording of the log and, if the step starts a new recording of it, a second one.
 *
 * <p>As in the real archive, an active recording has a recording position counter and no stop position.
 */
public final class DrivenArchive extends AeronArchive {
    public static final long LOG = 7;
    public static final long NEW_LOG = 8;
    public static final long SNAPSHOT = 9;
    public static final long ARCHIVE_ID = 11;
    public static final int REPLAY_SESSION = 2000;
    public static final long REPLICATION = 4000;
    private static final int RECORDING_POSITION_TYPE = 100;
    private static final int NONE = -1;

    /** The end of the recording of the log. */
    public long recorded;
    /** The position at which the stream is joined: a new recording begins there. */
    public long joinPosition;
    /** Whether a requested recording has not begun. */
    public boolean isAwaited;
    /** Whether the step started a new recording of the log. */
    public boolean startedAnew;
    private DrivenAeron aeron;
    private ArchiveProxy proxy;
    private Context context;
    private int logSession;
    private int logCounter;
    private long countedRecording;
    private long newRecorded;
    private int snapshotCounter;
    private long registrationId;
    private UnsafeBuffer key;
    private UnsafeBuffer label;

    DrivenArchive() {
        super(null, null, null, 0, 0);
    }

    public static DrivenArchive of(final DrivenAeron aeron, final DrivenPublication control, final int logSession) {
        final DrivenArchive archive = Allocation.of(DrivenArchive.class);
        archive.aeron = aeron;
        archive.logSession = logSession;
        archive.proxy = new ArchiveProxy(control);
        archive.context = new Context().aeron(aeron);
        archive.logCounter = NONE;
        archive.snapshotCounter = NONE;
        archive.key = new UnsafeBuffer(new byte[64]);
        archive.label = new UnsafeBuffer("rec-pos".getBytes());
        return archive;
    }

    /** Sets the state of the archive before a step. */
    public void reset(final long position, final boolean isRecording) {
        recorded = position;
        startedAnew = false;
        isAwaited = false;
        joinPosition = position;
        if (isRecording) {
            record(LOG, position);
        } else {
            stop();
        }
    }

    /** The recording position counter of the log; -1 without an active recording. */
    public int logCounter() {
        return logCounter;
    }

    /** The end of a recording. */
    public long end(final long recordingId) {
        return recordingId == NEW_LOG ? newRecorded : recorded;
    }

    private void record(final long recordingId, final long position) {
        if (logCounter != NONE && countedRecording != recordingId) {
            stop();
        }
        if (logCounter == NONE) {
            logCounter = allocate(recordingId, logSession);
            countedRecording = recordingId;
        }
        aeron.counters.setCounterValue(logCounter, position);
    }

    private void begin(final long recordingId, final long position) {
        isAwaited = false;
        record(recordingId, position);
    }

    private void stop() {
        if (logCounter != NONE) {
            aeron.counters.free(logCounter);
            logCounter = NONE;
        }
    }

    private int allocate(final long recordingId, final int session) {
        key.putLong(0, recordingId);
        key.putInt(8, session);
        key.putInt(12, 0);
        key.putLong(16, ARCHIVE_ID);
        final CountersManager counters = aeron.counters;
        final int id = counters.allocate(RECORDING_POSITION_TYPE, key, 0, 24, label, 0, label.capacity());
        counters.setCounterRegistrationId(id, ++registrationId);
        return id;
    }

    /** Frees the counter of a snapshot's recording after the snapshot. */
    public void forgetSnapshot() {
        if (snapshotCounter != NONE) {
            aeron.counters.free(snapshotCounter);
            snapshotCounter = NONE;
        }
    }

    public long startRecording(
        final String channel, final int streamId, final SourceLocation location, final boolean autoStop) {
        if (DrivenAeron.isOfSnapshot(channel)) {
            snapshotCounter = allocate(SNAPSHOT, aeron.snapshotPublication.session);
            aeron.counters.setCounterValue(snapshotCounter, Long.MAX_VALUE);
        } else {
            startedAnew = true;
            newRecorded = joinPosition;
            begin(NEW_LOG, joinPosition);
        }
        return 31;
    }

    public long extendRecording(
        final long recordingId,
        final String channel,
        final int streamId,
        final SourceLocation location,
        final boolean autoStop) {
        begin(recordingId, end(recordingId));
        return 31;
    }

    public boolean tryStopRecording(final long subscriptionId) {
        stop();
        return true;
    }

    public boolean tryStopRecordingByIdentity(final long recordingId) {
        stop();
        return true;
    }

    public long getStopPosition(final long recordingId) {
        return logCounter == NONE ? end(recordingId) : NULL_POSITION;
    }

    public long truncateRecording(final long recordingId, final long position) {
        recorded = position;
        return 1;
    }

    public int listRecording(final long recordingId, final RecordingDescriptorConsumer consumer) {
        final long stop = recordingId == SNAPSHOT ? Long.MAX_VALUE : getStopPosition(recordingId);
        consumer.onRecordingDescriptor(
            1, 1, recordingId, 0, 0, 0, stop, 0, 1 << 20, 1 << 16, 1408, logSession, 1, "log", "log", "log");
        return 1;
    }

    public long startReplay(
        final long recordingId, final long position, final long length, final String channel, final int streamId) {
        return REPLAY_SESSION;
    }

    public void stopReplay(final long session) {
    }

    public long replicate(
        final long source, final int streamId, final String channel, final ReplicationParams parameters) {
        return REPLICATION;
    }

    public boolean tryStopReplication(final long replicationId) {
        return true;
    }

    public void stopAllReplays(final long recordingId) {
    }

    public State state() {
        return State.CONNECTED;
    }

    public long archiveId() {
        return ARCHIVE_ID;
    }

    public long controlSessionId() {
        return 3;
    }

    public long lastCorrelationId() {
        return 77;
    }

    public ArchiveProxy archiveProxy() {
        return proxy;
    }

    public Context context() {
        return context;
    }
}
