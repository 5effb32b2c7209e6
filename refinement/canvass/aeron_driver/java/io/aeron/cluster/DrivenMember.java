package io.aeron.cluster;

import static io.aeron.Aeron.NULL_VALUE;

import io.aeron.Allocation;
import io.aeron.Capture;
import io.aeron.Counter;
import io.aeron.DrivenAeron;
import io.aeron.DrivenImage;
import io.aeron.DrivenPublication;
import io.aeron.DrivenSubscription;
import io.aeron.archive.client.DrivenArchive;
import io.aeron.archive.client.RecordingSignalPoller;
import io.aeron.archive.codecs.RecordingSignal;
import io.aeron.cluster.FieldTable.Slot;
import io.aeron.cluster.service.Cluster;
import io.aeron.status.ReadableCounter;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.collections.Int2ObjectHashMap;
import org.agrona.concurrent.CountedErrorHandler;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersManager;

/** The member under test: Aeron's own objects, set to a state of the spec and read back. */
final class DrivenMember {
    static final int LEADER_RECORDING = 70;
    static final int LOG_SESSION = 55;
    static final long DAY = TimeUnit.DAYS.toNanos(1);
    private static final int SNAPSHOT_SESSION = 66;
    private static final int LOG_SUBSCRIPTION = 31;
    private static final int CATCHUP_CORRELATION = 77;
    private static final int INACTIVE = 1;
    private static final String CATCHUP_DESTINATION = "aeron:udp?endpoint=localhost:20003";
    private static final String LIVE_DESTINATION = "aeron:udp?endpoint=localhost:20002";

    final Cells cells;
    final StateNames names;
    final FieldTable table;
    final long scale;
    final Capture sent = new Capture();
    final DrivenContext.Clock clock = new DrivenContext.Clock();
    final DrivenAeron aeron;
    final DrivenArchive archive;
    final ConsensusModule.Context context;
    final ConsensusModuleAgent agent;
    final RecordingLog recordingLog;
    final NodeStateFile nodeState;
    final Counter commitPosition;
    final LogPublisher logPublisher;
    final LogAdapter logAdapter;
    final ClusterMember[] members;
    final ClusterMember self;
    final DrivenPublication[] publications;
    final DrivenPublication logPublication;
    final DrivenImage logImage;
    final Capture snapshot = new Capture();
    private final Int2ObjectHashMap<ClusterMember> membersById;
    private final ConsensusPublisher consensusPublisher = new ConsensusPublisher();
    private final DrivenSubscription logSubscription = DrivenSubscription.create();
    private final Capture discarded = new Capture();
    private int[] logKey = new int[0];
    private List<RecordingLog.Entry> loggedEntries;
    private Throwable reported;

    DrivenMember(final Layout layout, final FieldTable table, final Path folder) throws IOException {
        cells = new Cells(layout);
        names = new StateNames(layout);
        this.table = table;
        scale = layout.number("scale");
        clock.now = 1000 * DAY;
        final CountersManager counters =
            new CountersManager(
            new UnsafeBuffer(ByteBuffer.allocateDirect(1 << 20)), new UnsafeBuffer(ByteBuffer.allocateDirect(1 << 18)));
        aeron = DrivenAeron.of(counters);
        aeron.logSubscription = logSubscription;
        aeron.replaySubscription = DrivenSubscription.create();
        aeron.logPublication = DrivenPublication.of(NULL_VALUE, LOG_SESSION, discarded);
        aeron.snapshotPublication = DrivenPublication.of(NULL_VALUE, SNAPSHOT_SESSION, snapshot);
        logPublication = aeron.logPublication;
        archive = DrivenArchive.of(aeron, DrivenPublication.of(NULL_VALUE, 1, discarded), LOG_SESSION);
        recordingLog = new RecordingLog(folder.toFile(), true);
        nodeState = new NodeStateFile(folder.toFile(), true, 0);
        logPublisher = new LogPublisher("aeron:udp");
        context = DrivenContext.of(
            aeron, recordingLog, nodeState, logPublisher, clock, cells.members,
            new CountedErrorHandler(error -> reported = error, counters.newCounter("errors")));
        commitPosition = context.commitPositionCounter();
        agent = new ConsensusModuleAgent(context);
        table.field("archive").set(agent, archive);
        table.field("signal_poller").set(agent, new RecordingSignalPoller(3, logSubscription));
        table.field("mark_file_deadline").setLong(agent, Long.MAX_VALUE);
        logAdapter = table.field("log_adapter").get(agent);
        members = table.field("members").get(agent);
        membersById = table.field("members_by_id").get(agent);
        self = table.field("this_member").get(agent);
        logImage = DrivenImage.of(LOG_SESSION, logSubscription);
        logSubscription.image = logImage;
        publications = new DrivenPublication[members.length];
        for (int id = 0; id < members.length; id++) {
            publications[id] = DrivenPublication.of(id, 100 + id, sent);
            members[id].publication(publications[id]);
        }
        bindFields();
    }

    // --- the fields, by the names of the table

    private Slot state;
    private Slot role;
    private Slot moduleTerm;
    private Slot moduleNotified;
    private Slot terminationPosition;
    private Slot terminationTerm;
    private Slot leaderMember;
    private Slot catchupDestination;
    private Slot liveDestination;
    Slot election;
    Slot recoveryPlan;
    private Slot clusterTermination;
    private Slot recordingCounter;
    private Slot logRecordingId;
    private Slot logRecordingStop;
    private Slot logSubscriptionId;
    private Slot lastAppend;
    private Slot lastBacktrack;
    private Slot lastLogUpdate;
    private Slot lastAppendUpdate;
    private Slot lastAppendSend;
    private Slot lastLeaderUpdate;
    private Slot electionState;
    private Slot logTerm;
    private Slot term;
    private Slot candidateTerm;
    private Slot appendPosition;
    private Slot electionLogPosition;
    private Slot notified;
    private Slot catchupNotified;
    private Slot replicationNotified;
    private Slot catchupJoin;
    private Slot replicationTerm;
    private Slot replicationStop;
    private Slot replicationBase;
    private Slot gracefulClosedLeader;
    private Slot electionLeader;
    private Slot electionSubscription;
    private Slot logReplay;
    private Slot logReplication;
    private Slot isFirstInit;
    private Slot isExtendedCanvass;
    private Slot isLeaderStartup;
    private Slot logSession;
    private Slot leaderRecording;
    private Slot replicationDeadline;
    private Slot nominationDeadline;
    private Slot lastStateChange;
    private Slot lastUpdate;
    private Slot lastCommitUpdate;
    private Slot lastPublishedCommit;
    private Slot lastPublishedAppend;
    private Slot replayStop;
    private Slot adapterImage;
    private Slot adapterPosition;
    private Slot recordingLogFile;
    private Slot termRecording;

    private void bindFields() {
        state = table.field("module_state");
        role = table.field("role");
        moduleTerm = table.field("module_leadership_term_id");
        moduleNotified = table.field("module_notified_commit_position");
        terminationPosition = table.field("termination_position");
        terminationTerm = table.field("termination_leadership_term_id");
        leaderMember = table.field("module_leader");
        catchupDestination = table.field("catchup_destination");
        liveDestination = table.field("live_destination");
        election = table.field("election");
        recoveryPlan = table.field("recovery_plan");
        clusterTermination = table.field("cluster_termination");
        recordingCounter = table.field("recording_counter");
        logRecordingId = table.field("log_recording_id");
        logRecordingStop = table.field("log_recording_stop_position");
        logSubscriptionId = table.field("log_subscription_id");
        lastAppend = table.field("last_append_position");
        lastBacktrack = table.field("last_backtrack_position");
        lastLogUpdate = table.field("time_of_last_log_update");
        lastAppendUpdate = table.field("time_of_last_append_update");
        lastAppendSend = table.field("time_of_last_append_send");
        lastLeaderUpdate = table.field("time_of_last_leader_update");
        electionState = table.field("election_state");
        logTerm = table.field("log_leadership_term_id");
        term = table.field("leadership_term_id");
        candidateTerm = table.field("candidate_term_id");
        appendPosition = table.field("append_position");
        electionLogPosition = table.field("log_position");
        notified = table.field("notified_commit_position");
        catchupNotified = table.field("catchup_commit_position");
        replicationNotified = table.field("replication_commit_position");
        catchupJoin = table.field("catchup_join_position");
        replicationTerm = table.field("replication_leadership_term_id");
        replicationStop = table.field("replication_stop_position");
        replicationBase = table.field("replication_term_base_log_position");
        gracefulClosedLeader = table.field("graceful_closed_leader_id");
        electionLeader = table.field("election_leader");
        electionSubscription = table.field("log_subscription");
        logReplay = table.field("log_replay");
        logReplication = table.field("log_replication");
        isFirstInit = table.field("is_first_init");
        isExtendedCanvass = table.field("is_extended_canvass");
        isLeaderStartup = table.field("is_leader_startup");
        logSession = table.field("log_session_id");
        leaderRecording = table.field("leader_recording_id");
        replicationDeadline = table.field("replication_deadline");
        nominationDeadline = table.field("nomination_deadline");
        lastStateChange = table.field("time_of_last_state_change");
        lastUpdate = table.field("time_of_last_update");
        lastCommitUpdate = table.field("time_of_last_commit_update");
        lastPublishedCommit = table.field("last_published_commit_position");
        lastPublishedAppend = table.field("last_published_append_position");
        replayStop = table.field("replay_stop_position");
        adapterImage = table.field("adapter_image");
        adapterPosition = table.field("adapter_log_position");
        recordingLogFile = table.field("recording_log_file");
        termRecording = table.field("term_recording_id");
    }

    static long scaled(final int cell, final long scale) {
        return cell > 0 ? cell * scale : cell;
    }

    /** The position in the stream's unit; a position between two units becomes negative, so that it differs. */
    static int unscaled(final long position, final long scale) {
        if (position <= 0) {
            return (int) position;
        }
        return position % scale == 0 ? (int) (position / scale) : -(int) (2 + position / scale);
    }

    private long position(final int[] request, final int name) {
        return scaled(request[cells.stateStart + name], scale);
    }

    private int cell(final int[] request, final int name) {
        return request[cells.stateStart + name];
    }

    // --- set a state

    /** Puts the member into the state of a request, with clocks that make its input true. */
    void put(final int[] request, final Hidden hidden) throws IOException {
        final int[] r = request;
        final ElectionState stateOfElection = ElectionState.get(cell(r, names.electionState));
        final boolean isClosed = stateOfElection == ElectionState.CLOSED;
        final boolean subscribed = cell(r, names.logSubscription) == 1;
        final boolean isRecording = isClosed
            || stateOfElection == ElectionState.LEADER_READY
            || stateOfElection == ElectionState.FOLLOWER_CATCHUP
            || stateOfElection == ElectionState.FOLLOWER_READY
            || (stateOfElection == ElectionState.FOLLOWER_LOG_INIT && subscribed);
        final long recorded = position(r, names.recordedPosition);
        final boolean copies = stateOfElection == ElectionState.FOLLOWER_LOG_REPLICATION;
        // The input of a copy names the end of the recording, and so whether there is one.
        final boolean isEmptyRecording =
            copies ? r[cells.position] != NULL_VALUE : hidden.has(Hidden.EMPTY_RECORDING);
        final boolean isUnrecorded = !isRecording && recorded == 0 && cell(r, names.snapshotLogPosition) == 0
            && cell(r, cells.logOffset) == 0 && !isEmptyRecording;
        // The recording has grown: an earlier cycle requested it, and the member has not seen it yet.
        final boolean isAwaited = recorded > position(r, names.appendPosition)
            && (stateOfElection == ElectionState.FOLLOWER_CATCHUP_AWAIT
            || stateOfElection == ElectionState.FOLLOWER_LOG_AWAIT);
        sent.clear();
        discarded.clear();
        reported = null;
        for (final DrivenPublication publication : publications) {
            publication.accepts = true;
        }
        putRecordingLog(r);
        if (nodeState.candidateTerm().candidateTermId() != cell(r, names.persistedCandidateTermId)) {
            nodeState.updateCandidateTermId(cell(r, names.persistedCandidateTermId), 0, 0);
        }
        archive.reset(recorded, isRecording || isAwaited);
        commitPosition.set(position(r, names.commitPosition));
        putModule(r, isRecording, isUnrecorded, isClosed, hidden);
        if (isAwaited) {
            logSubscriptionId.setLong(agent, LOG_SUBSCRIPTION);
        }
        putLog(r, stateOfElection, isClosed, subscribed, hidden);
        putRecords(r, stateOfElection, isClosed, hidden);
        election.set(agent, null);
        recoveryPlan.set(agent, recordingLog.createRecoveryPlan(
            archive, 0, isUnrecorded ? NULL_VALUE : DrivenArchive.LOG));
        if (!isClosed) {
            putElection(r, stateOfElection, hidden);
        }
    }

    private void putModule(
        final int[] r,
        final boolean isRecording,
        final boolean isUnrecorded,
        final boolean isClosed,
        final Hidden hidden) {
        final int leader = cell(r, names.leaderMemberId);
        final boolean interval = r[cells.interval] == 1;
        state.set(agent, hidden.has(Hidden.SUSPENDED) ? ConsensusModule.State.SUSPENDED : ConsensusModule.State.ACTIVE);
        role.set(agent, Cluster.Role.get(cell(r, names.role)));
        moduleTerm.setLong(agent, cell(r, names.moduleLeadershipTermId));
        moduleNotified.setLong(agent, position(r, names.moduleNotifiedCommitPosition));
        terminationPosition.setLong(agent, position(r, names.terminationPosition));
        terminationTerm.setLong(agent, cell(r, names.terminationLeadershipTermId));
        clusterTermination.set(agent, null);
        logRecordingId.setLong(agent, isUnrecorded ? NULL_VALUE : DrivenArchive.LOG);
        final long recorded = position(r, names.recordedPosition);
        logRecordingStop.setLong(agent, recorded);
        logSubscriptionId.setLong(agent, isRecording ? LOG_SUBSCRIPTION : NULL_VALUE);
        recordingCounter.set(agent, isRecording ? counterOfLog() : null);
        lastAppend.setLong(agent, isUnrecorded ? NULL_VALUE : recorded);
        lastBacktrack.setLong(agent, hidden.has(Hidden.BACKTRACKED) ? Long.MAX_VALUE : NULL_VALUE);
        lastAppendUpdate.setLong(agent, clock.now);
        lastAppendSend.setLong(agent, interval ? clock.now - DAY : clock.now);
        lastLogUpdate.setLong(agent, r[cells.commitInterval] == 1 ? clock.now - DAY : clock.now);
        lastLeaderUpdate.setLong(agent, r[cells.timeout] == 1 ? clock.now - DAY : clock.now);
        leaderMember.set(agent, leader < 0 ? self : members[leader]);
        catchupDestination.set(agent, cell(r, names.catchupDestination) == 1 ? CATCHUP_DESTINATION : null);
        liveDestination.set(agent, isClosed || hidden.has(Hidden.LIVE_DESTINATION) ? LIVE_DESTINATION : null);
        for (final ClusterMember member : members) {
            member.isLeader(member.id() == leader);
            member.hasTerminated(false);
        }
    }

    private ReadableCounter counterOfLog() {
        final int counter = archive.logCounter();
        return new ReadableCounter(aeron.counters, aeron.counters.getCounterRegistrationId(counter), counter);
    }

    private void putLog(
        final int[] r,
        final ElectionState stateOfElection,
        final boolean isClosed,
        final boolean subscribed,
        final Hidden hidden) {
        final long commit = position(r, names.commitPosition);
        final boolean isReplaying = cell(r, names.replayStopPosition) != NULL_VALUE;
        final boolean follows = stateOfElection == ElectionState.FOLLOWER_CATCHUP
            || stateOfElection == ElectionState.FOLLOWER_READY
            || (stateOfElection == ElectionState.FOLLOWER_LOG_INIT && subscribed)
            || (isClosed && subscribed);
        logImage.position = commit;
        logImage.joinPosition = commit;
        logImage.isClosed = false;
        logImage.isEndOfStream = false;
        logImage.content = null;
        archive.joinPosition = commit;
        adapterImage.set(logAdapter, isReplaying || follows ? logImage : null);
        adapterPosition.setLong(logAdapter, commit);
        logPublication.claimedPosition = NULL_VALUE;
        logPublication.accepts = false;
        logPublisher.disconnect(null);
        if (cell(r, names.publicationPosition) != NULL_VALUE) {
            logPublication.position = position(r, names.publicationPosition);
            logPublisher.publication(logPublication);
        }
    }

    private void putRecords(
        final int[] r, final ElectionState stateOfElection, final boolean isClosed, final Hidden hidden) {
        final boolean forgotten = hidden.has(Hidden.STALE_RECORDS)
            && !hasRecords(stateOfElection) && !(isClosed && cell(r, names.role) == Cluster.Role.LEADER.code());
        for (int id = 0; id < members.length; id++) {
            final int at = cells.stateStart + cells.recordsOffset + id * cells.recordWidth;
            final ClusterMember member = members[id];
            if (forgotten) {
                member.leadershipTermId(id).logPosition(scale).candidateTermId(1).vote(id != 1);
                member.isBallotSent(true);
            } else {
                member.leadershipTermId(r[at]).logPosition(scaled(r[at + 1], scale)).candidateTermId(r[at + 2]);
                member.vote(r[at + 3] == NULL_VALUE ? null : (Boolean) (r[at + 3] == 1));
                member.isBallotSent(r[at + 4] == 1);
            }
            member.catchupReplaySessionId(r[at + 5] == 1 ? DrivenArchive.REPLAY_SESSION : NULL_VALUE);
            member.catchupReplayCorrelationId(r[at + 5] == 1 ? CATCHUP_CORRELATION : NULL_VALUE);
            final boolean isActive = (r[cells.active] >> id & 1) == 1;
            member.timeOfLastAppendPositionNs(isActive ? clock.now : clock.now - DAY);
        }
    }

    /** The states in which the spec keeps the records of the other members. */
    static boolean hasRecords(final ElectionState state) {
        return switch (state) {
            case CANVASS, NOMINATE, CANDIDATE_BALLOT,
                LEADER_LOG_REPLICATION, LEADER_REPLAY, LEADER_INIT, LEADER_READY -> true;
            default -> false;
        };
    }

    private void putElection(final int[] r, final ElectionState stateOfElection, final Hidden hidden) {
        final boolean interval = r[cells.interval] == 1;
        final boolean commitInterval = r[cells.commitInterval] == 1;
        final boolean timeout = r[cells.timeout] == 1;
        final long now = clock.now;
        final long append = position(r, names.appendPosition);
        final boolean fromModule = hidden.has(Hidden.INITIAL_TERM_OF_MODULE);
        final Election e = new Election(
            hidden.has(Hidden.NODE_STARTUP),
            cell(r, names.gracefulClosedLeaderId),
            fromModule ? cell(r, names.moduleLeadershipTermId) : cell(r, names.snapshotLeadershipTermId),
            fromModule ? baseOfModuleTerm(r) : position(r, names.snapshotTermBaseLogPosition),
            position(r, names.commitPosition),
            append,
            members, membersById, self, consensusPublisher, context, agent);
        electionState.set(e, stateOfElection);
        isFirstInit.setBoolean(e, false);
        isExtendedCanvass.setBoolean(e, hidden.has(Hidden.NODE_STARTUP));
        isLeaderStartup.setBoolean(e, hidden.has(Hidden.NODE_STARTUP));
        logTerm.setLong(e, cell(r, names.logLeadershipTermId));
        term.setLong(e, cell(r, names.leadershipTermId));
        candidateTerm.setLong(e, cell(r, names.candidateTermId));
        final long heard = position(r, names.notifiedCommitPosition);
        notified.setLong(e, heard);
        // Aeron may have two positions: the spec has the one of the copy until it ends, then the one of the catch-up.
        replicationNotified.setLong(e, copiesStill(stateOfElection) ? heard : 0);
        catchupNotified.setLong(e, copiesStill(stateOfElection) ? 0 : heard);
        putFollowing(r, e, stateOfElection, hidden);
        final int leader = cell(r, names.leaderMemberId);
        electionLeader.set(e, leader < 0 ? null : members[leader]);
        logSession.setInt(e, LOG_SESSION);
        lastUpdate.setLong(e, interval ? now - DAY : now);
        lastCommitUpdate.setLong(e, commitInterval ? now - DAY : now);
        lastStateChange.setLong(e, timeout ? now - DAY : now);
        nominationDeadline.setLong(e, timeout ? now : now + DAY);
        lastPublishedCommit.setLong(e, commitInterval ? NULL_VALUE : Long.MAX_VALUE);
        lastPublishedAppend.setLong(e, interval ? NULL_VALUE - 1 : append);
        election.set(agent, e);
        putWork(r, e, hidden);
    }

    private void putFollowing(
        final int[] r, final Election e, final ElectionState stateOfElection, final Hidden hidden) {
        final int code = stateOfElection.code();
        final boolean copies = stateOfElection == ElectionState.FOLLOWER_LOG_REPLICATION;
        final boolean follows =
            code >= ElectionState.FOLLOWER_LOG_REPLICATION.code() && code <= ElectionState.FOLLOWER_READY.code();
        final boolean stale = hidden.has(Hidden.STALE_FOLLOWING);
        catchupJoin.setLong(e, stale && !follows ? scale : position(r, names.catchupJoinPosition));
        replicationTerm.setLong(e, stale && !copies ? 0 : cell(r, names.replicationLeadershipTermId));
        replicationStop.setLong(e, stale && !copies ? scale : position(r, names.replicationStopPosition));
        replicationBase.setLong(e, stale && !copies ? 0 : position(r, names.replicationTermBaseLogPosition));
        leaderRecording.setLong(e, LEADER_RECORDING);
        replicationDeadline.setLong(e, clock.now + DAY);
    }

    private long baseOfModuleTerm(final int[] r) {
        final RecordingLog.Entry entry = recordingLog.findTermEntry(cell(r, names.moduleLeadershipTermId));
        return entry == null ? position(r, names.snapshotTermBaseLogPosition) : entry.termBaseLogPosition;
    }

    /** Makes replay, copy and subscription with Aeron's own methods. */
    private void putWork(final int[] r, final Election e, final Hidden hidden) {
        if (cell(r, names.replayStopPosition) != NULL_VALUE) {
            logReplay.set(e, agent.newLogReplay(
                position(r, names.commitPosition), position(r, names.replayStopPosition)));
            if (hidden.has(Hidden.REPLAY_BEGAN_EARLIER)) {
                electionLogPosition.setLong(e, position(r, names.snapshotLogPosition));
            }
        } else if (hidden.has(Hidden.REPLAY_BEGAN_EARLIER)
            && electionState.get(e) == ElectionState.FOLLOWER_CATCHUP) {
            electionLogPosition.setLong(e, position(r, names.snapshotLogPosition));
        }
        if (cell(r, names.logReplication) == 1) {
            startReplication(e, position(r, names.replicationStopPosition), position(r, names.recordedPosition));
            final boolean isWhole = cell(r, names.recordedPosition) == cell(r, names.replicationStopPosition);
            if (isWhole == (r[cells.position] == NULL_VALUE)) {
                endReplication(e, position(r, names.recordedPosition));
            }
        }
        if (cell(r, names.logSubscription) == 1) {
            electionSubscription.set(e, logSubscription);
        }
        if (hidden.has(Hidden.WORK_TO_CLOSE) && electionState.get(e) == ElectionState.INIT) {
            logReplay.set(e, agent.newLogReplay(0, scale));
            startReplication(e, scale, 0);
        }
    }

    void startReplication(final Election e, final long stop, final long position) {
        logReplication.set(e, agent.newLogReplication("localhost:20004", null, LEADER_RECORDING, stop, clock.now));
        signal(e, position, RecordingSignal.EXTEND);
    }

    void endReplication(final Election e, final long position) {
        signal(e, position, RecordingSignal.STOP);
        signal(e, NULL_VALUE, RecordingSignal.REPLICATE_END);
    }

    private void signal(final Election e, final long position, final RecordingSignal signal) {
        final RecordingReplication replication = logReplication.get(e);
        replication.onSignal(DrivenArchive.REPLICATION, DrivenArchive.LOG, position, signal);
        agent.logRecordingId(replication.recordingId());
    }

    private void putRecordingLog(final int[] r) throws IOException {
        final int start = cells.stateStart + cells.logOffset;
        final int count = r[start];
        final int[] key = Arrays.copyOfRange(r, start, start + 4 + 3 * count);
        key[key.length - 3] = cell(r, names.snapshotLeadershipTermId);
        key[key.length - 2] = cell(r, names.snapshotTermBaseLogPosition);
        key[key.length - 1] = cell(r, names.snapshotLogPosition);
        if (Arrays.equals(key, logKey) && recordingLog.entries().equals(loggedEntries)) {
            return;
        }
        final FileChannel file = recordingLogFile.get(recordingLog);
        file.truncate(0);
        termRecording.setLong(recordingLog, NULL_VALUE);
        recordingLog.reload();
        long next = Math.max(0, cell(r, names.snapshotLeadershipTermId));
        for (int k = 0; k < count; k++) {
            final long termId = r[start + 1 + 3 * k];
            final long base = scaled(r[start + 2 + 3 * k], scale);
            final long end = scaled(r[start + 3 + 3 * k], scale);
            for (; next < termId; next++) {
                appendTerm(next, base, base);
            }
            appendTerm(termId, base, end);
            next = termId + 1;
        }
        if (cell(r, names.snapshotLogPosition) > 0) {
            recordingLog.appendSnapshot(
                DrivenArchive.SNAPSHOT,
                cell(r, names.snapshotLeadershipTermId),
                position(r, names.snapshotTermBaseLogPosition),
                position(r, names.snapshotLogPosition),
                0,
                ConsensusModule.Configuration.SERVICE_ID);
        }
        logKey = key;
        loggedEntries = new ArrayList<>(recordingLog.entries());
    }

    private void appendTerm(final long termId, final long base, final long end) {
        recordingLog.appendTerm(DrivenArchive.LOG, termId, base, 0);
        if (end != NULL_VALUE) {
            recordingLog.commitLogPosition(termId, end);
        }
    }

    /** Resets the agent's fields to those of a new process on the same disk. */
    void forgetProcess() {
        archive.reset(archive.recorded, false);
        recordingCounter.set(agent, null);
        logRecordingId.setLong(agent, NULL_VALUE);
        logSubscriptionId.setLong(agent, NULL_VALUE);
        logRecordingStop.setLong(agent, 0);
        lastAppend.setLong(agent, NULL_VALUE);
        adapterImage.set(logAdapter, null);
        adapterPosition.setLong(logAdapter, 0);
        logPublisher.disconnect(null);
        role.set(agent, Cluster.Role.FOLLOWER);
        state.set(agent, ConsensusModule.State.INIT);
        moduleTerm.setLong(agent, NULL_VALUE);
        moduleNotified.setLong(agent, 0);
        terminationPosition.setLong(agent, NULL_VALUE);
        terminationTerm.setLong(agent, NULL_VALUE);
        clusterTermination.set(agent, null);
        catchupDestination.set(agent, null);
        liveDestination.set(agent, null);
        leaderMember.set(agent, self);
        table.field("expected_ack_position").setLong(agent, 0);
        table.field("service_ack_id").setLong(agent, 0);
        election.set(agent, null);
        commitPosition.set(0);
        ClusterMember.reset(members);
        for (final ClusterMember member : members) {
            member.catchupReplaySessionId(NULL_VALUE);
            member.catchupReplayCorrelationId(NULL_VALUE);
        }
    }

    /** Starts an election like {@code onStart}. */
    void startElection(final long logTermId, final long base, final long appended) {
        final Election e = new Election(
            true, NULL_VALUE, logTermId, base, commitPosition.get(), appended,
            members, membersById, self, consensusPublisher, context, agent);
        election.set(agent, e);
        e.doWork(clock.now);
        state.set(agent, ConsensusModule.State.ACTIVE);
    }

    /** Makes the member a leader that has requested a termination and waits for acknowledgements. */
    void awaitTermination(final long deadline, final boolean servicesEnded) {
        final ClusterTermination awaited = newTermination(deadline);
        if (servicesEnded) {
            awaited.onServicesTerminated();
        }
        clusterTermination.set(agent, awaited);
    }

    /** Makes a ClusterTermination. Some releases also need the number of services: one, without an acknowledgement. */
    private static ClusterTermination newTermination(final long deadline) {
        try {
            for (final Constructor<?> each : ClusterTermination.class.getDeclaredConstructors()) {
                return (ClusterTermination) (each.getParameterCount() == 1
                    ? each.newInstance(deadline) : each.newInstance(deadline, 1));
            }
        } catch (final ReflectiveOperationException ex) {
            throw new IllegalStateException(ex);
        }
        throw new FieldTable.MissingMember("this release has no constructor of ClusterTermination");
    }

    void moduleState(final ConsensusModule.State given) {
        state.set(agent, given);
    }

    void setLastAppendSend(final long time) {
        lastAppendSend.setLong(agent, time);
    }

    Election electionOf() {
        return election.get(agent);
    }

    LogReplay replayOf(final Election e) {
        return logReplay.get(e);
    }

    long notifiedOf(final Election e) {
        return (notified.isPresent() ? notified : catchupNotified).getLong(e);
    }

    Throwable reported() {
        return reported;
    }

    // --- read the state

    /** Writes the member's state into cells. */
    void read(final int[] out, final int[] request) {
        final int s = cells.answerState;
        Arrays.fill(out, s, s + names.count, NULL_VALUE);
        out[s + names.persistedCandidateTermId] = (int) nodeState.candidateTerm().candidateTermId();
        // Only a recording that the member can find counts.
        final long recording = logRecordingId.getLong(agent);
        out[s + names.recordedPosition] =
            recording == NULL_VALUE ? 0 : unscaled(archive.end(recording), scale);
        final ConsensusModule.State module = agent.state();
        out[s + names.moduleState] =
            module == ConsensusModule.State.CLOSED || module == ConsensusModule.State.TERMINATING ? INACTIVE : 0;
        out[s + names.role] = agent.role().code();
        out[s + names.moduleLeadershipTermId] = (int) moduleTerm.getLong(agent);
        out[s + names.moduleNotifiedCommitPosition] = unscaled(moduleNotified.getLong(agent), scale);
        out[s + names.commitPosition] = unscaled(commitPosition.get(), scale);
        out[s + names.publicationPosition] =
            logPublisher.publication() == null ? NULL_VALUE : unscaled(logPublisher.position(), scale);
        out[s + names.catchupDestination] = agent.catchupLogDestination() == null ? 0 : 1;
        out[s + names.terminationPosition] = unscaled(terminationPosition.getLong(agent), scale);
        out[s + names.terminationLeadershipTermId] = (int) terminationTerm.getLong(agent);
        out[s + names.logReplication] = 0;
        final Election e = electionOf();
        if (e == null) {
            out[s + names.electionState] = ElectionState.CLOSED.code();
            final ClusterMember leader = leaderMember.get(agent);
            out[s + names.leaderMemberId] = leader.id();
            out[s + names.logSubscription] = logAdapter.image() == null ? 0 : 1;
        } else {
            readElection(out, s, e);
        }
        readRecords(out, s);
        readLog(out, s);
    }

    private void readElection(final int[] out, final int s, final Election e) {
        final ElectionState at = electionState.get(e);
        final ClusterMember leader = e.leader();
        final LogReplay replay = logReplay.get(e);
        out[s + names.electionState] = at.code();
        out[s + names.leaderMemberId] = leader == null ? NULL_VALUE : leader.id();
        out[s + names.logSubscription] = electionSubscription.get(e) == null ? 0 : 1;
        out[s + names.logLeadershipTermId] = (int) logTerm.getLong(e);
        out[s + names.leadershipTermId] = (int) term.getLong(e);
        out[s + names.candidateTermId] = (int) candidateTerm.getLong(e);
        out[s + names.appendPosition] = unscaled(appendPosition.getLong(e), scale);
        out[s + names.notifiedCommitPosition] = unscaled(notifiedIn(e, at), scale);
        out[s + names.catchupJoinPosition] = unscaled(catchupJoin.getLong(e), scale);
        out[s + names.replicationLeadershipTermId] = (int) replicationTerm.getLong(e);
        out[s + names.replicationStopPosition] = unscaled(replicationStop.getLong(e), scale);
        out[s + names.replicationTermBaseLogPosition] = unscaled(replicationBase.getLong(e), scale);
        out[s + names.logReplication] = logReplication.get(e) == null ? 0 : 1;
        out[s + names.replayStopPosition] = replay == null ? NULL_VALUE : unscaled(replayStop.getLong(replay), scale);
        out[s + names.gracefulClosedLeaderId] = gracefulClosedLeader.getInt(e);
    }

    private static boolean copiesStill(final ElectionState at) {
        return at.code() <= ElectionState.FOLLOWER_LOG_REPLICATION.code();
    }

    private long notifiedIn(final Election e, final ElectionState at) {
        if (notified.isPresent()) {
            return notified.getLong(e);
        }
        final long copy = replicationNotified.getLong(e);
        final long catchup = catchupNotified.getLong(e);
        return at == ElectionState.INIT ? Math.max(copy, catchup) : copiesStill(at) ? copy : catchup;
    }

    private void readRecords(final int[] out, final int s) {
        for (int id = 0; id < members.length; id++) {
            final ClusterMember member = members[id];
            final int at = s + cells.recordsOffset + id * cells.recordWidth;
            out[at] = (int) member.leadershipTermId();
            out[at + 1] = unscaled(member.logPosition(), scale);
            out[at + 2] = (int) member.candidateTermId();
            out[at + 3] = member.vote() == null ? NULL_VALUE : member.vote() ? 1 : 0;
            out[at + 4] = member.isBallotSent() ? 1 : 0;
            out[at + 5] = member.catchupReplaySessionId() == NULL_VALUE ? 0 : 1;
        }
    }

    /** Writes the recording log without implied terms: empty terms that another term follows. */
    private void readLog(final int[] out, final int s) {
        final int start = s + cells.logOffset;
        Arrays.fill(out, start, start + 1 + 3 * cells.logCapacity, NULL_VALUE);
        out[s + names.snapshotLeadershipTermId] = NULL_VALUE;
        out[s + names.snapshotTermBaseLogPosition] = 0;
        out[s + names.snapshotLogPosition] = 0;
        int count = 0;
        RecordingLog.Entry before = null;
        for (final RecordingLog.Entry entry : recordingLog.entries()) {
            if (entry.type == RecordingLog.ENTRY_TYPE_SNAPSHOT) {
                if (entry.logPosition >= scaled(out[s + names.snapshotLogPosition], scale)) {
                    out[s + names.snapshotLeadershipTermId] = (int) entry.leadershipTermId;
                    out[s + names.snapshotTermBaseLogPosition] = unscaled(entry.termBaseLogPosition, scale);
                    out[s + names.snapshotLogPosition] = unscaled(entry.logPosition, scale);
                }
                continue;
            }
            final boolean replaces = before != null
                && before.termBaseLogPosition == before.logPosition && before.logPosition == entry.termBaseLogPosition;
            if (!replaces) {
                count++;
            }
            if (count > cells.logCapacity) {
                throw new IllegalStateException("the recording log has more entries than an answer holds");
            }
            final int at = start + 1 + 3 * (count - 1);
            out[at] = (int) entry.leadershipTermId;
            out[at + 1] = unscaled(entry.termBaseLogPosition, scale);
            out[at + 2] = unscaled(entry.logPosition, scale);
            before = entry;
        }
        out[start] = count;
    }
}
