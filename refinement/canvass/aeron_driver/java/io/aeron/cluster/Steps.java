package io.aeron.cluster;

import static io.aeron.Aeron.NULL_VALUE;

import io.aeron.DrivenAeron;
import io.aeron.DrivenImage;
import io.aeron.archive.client.DrivenArchive;
import io.aeron.cluster.client.ClusterEvent;
import io.aeron.logbuffer.ControlledFragmentHandler;
import io.aeron.logbuffer.Header;
import io.aeron.protocol.DataHeaderFlyweight;
import java.lang.invoke.MethodHandle;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;

/** Takes each action of the spec by calling Aeron's method on the state that {@link DrivenMember} has set. */
final class Steps {
    private static final int FRAGMENT = 1;
    private final DrivenMember member;
    private final Cells cells;
    private final Wire wire;
    private final ConsensusAdapter consensusAdapter;
    private final MethodHandle consensusWork;
    private final MethodHandle slowTickWork;
    private final MethodHandle enterElection;
    private final MethodHandle updateLeaderPosition;
    private final MethodHandle updateFollowerPosition;
    private final MethodHandle checkControlToggle;
    private final MethodHandle recover;
    private final Header header = new Header(0, 16);
    private final UnsafeBuffer event = new UnsafeBuffer(new byte[256]);

    Steps(final DrivenMember member, final Wire wire) {
        this.member = member;
        this.cells = member.cells;
        this.wire = wire;
        consensusAdapter = member.table.field("consensus_adapter").get(member.agent);
        consensusWork = member.table.call("consensus_work");
        slowTickWork = member.table.call("slow_tick_work");
        enterElection = member.table.call("enter_election");
        updateLeaderPosition = member.table.call("update_leader_position");
        updateFollowerPosition = member.table.call("update_follower_position");
        checkControlToggle = member.table.call("check_control_toggle");
        recover = member.table.call("recover");
        final UnsafeBuffer frame = new UnsafeBuffer(new byte[DataHeaderFlyweight.HEADER_LENGTH]);
        frame.putByte(DataHeaderFlyweight.FLAGS_FIELD_OFFSET, (byte) DataHeaderFlyweight.BEGIN_AND_END_FLAGS);
        header.buffer(frame);
        header.offset(0);
    }

    /** Takes the step of a request. */
    void take(final String action, final int[] r) throws Throwable {
        final ConsensusModuleAgent agent = member.agent;
        final Election election = member.electionOf();
        final long now = member.clock.now;
        switch (action) {
            case "OnCanvassPosition", "OnRequestVote", "OnVote", "OnNewLeadershipTerm", "OnAppendPosition",
                "OnCommitPosition", "OnCatchupPosition", "OnStopCatchup", "OnTerminationPosition" -> receive(r);
            case "OnTerminationAck" -> {
                if (cell(r, member.names.terminationPosition) != NULL_VALUE) {
                    member.awaitTermination(now + DrivenMember.DAY, false);
                }
                receive(r);
            }
            case "EnterElection" -> enterElection.invoke(agent, r[cells.gracefulClosedLeaderId] != NULL_VALUE, "");
            case "ElectionError" -> fail(r, election, now);
            case "UpdateLeaderPosition" -> {
                final int ignored = (int) updateLeaderPosition.invoke(agent, now);
            }
            case "UpdateFollowerPosition" -> {
                member.setLastAppendSend(now - DrivenMember.DAY);
                final int ignored = (int) updateFollowerPosition.invoke(agent, now);
            }
            case "ConsumeLog" -> consume(r, election, false);
            case "OnReplayNewLeadershipTermEvent" -> consume(r, election, true);
            case "LeaderReady" -> {
                member.logPublication.accepts = r[cells.position] != NULL_VALUE;
                member.logPublication.claimedPosition = DrivenMember.scaled(r[cells.position], member.scale);
                election.doWork(now);
            }
            case "CandidateBallot" -> {
                for (int id = 0; id < member.publications.length; id++) {
                    member.publications[id].accepts = (r[cells.accepted] >> id & 1) == 1;
                }
                election.doWork(now);
            }
            case "FollowerLogReplication" -> {
                final int leader = cell(r, member.names.leaderMemberId);
                // The publication to the leader refuses the report of a longer copy if the input sends none.
                member.publications[leader].accepts = r[cells.interval] == 1
                    || cell(r, member.names.recordedPosition) <= cell(r, member.names.appendPosition);
                election.doWork(now);
            }
            case "AppendEntry" -> appendEntry(r, now);
            case "InitiateTermination" -> control(ClusterControl.ToggleState.ABORT, r, now);
            case "Terminate" -> terminate(r, now);
            case "TakeSnapshot" -> takeSnapshot(r, now);
            case "Restart" -> restart();
            default -> election.doWork(now);
        }
    }

    /** Fails the election: the duty cycle that would close it cannot connect ingress, or it has another error. */
    private void fail(final int[] r, final Election election, final long now) {
        if (r[cells.position] == NULL_VALUE) {
            throw new ClusterEvent("an error");
        }
        member.logPublication.accepts = true;
        member.logPublication.claimedPosition = DrivenMember.scaled(r[cells.position], member.scale);
        member.aeron.refusesSubscriptions = true;
        try {
            election.doWork(now);
        } finally {
            member.aeron.refusesSubscriptions = false;
        }
    }

    private int cell(final int[] r, final int name) {
        return r[cells.stateStart + name];
    }

    private void receive(final int[] r) {
        final int length = wire.encode(r[cells.messageStart], r, cells.messageStart + 1);
        consensusAdapter.onFragment(wire.buffer, 0, length, header);
    }

    /** Consumes an entry of the log that ends at the input's position. */
    private void consume(final int[] r, final Election election, final boolean opensTerm) throws Throwable {
        final long end = DrivenMember.scaled(r[cells.position], member.scale);
        final DrivenImage image = member.logImage;
        image.content = (handler, bound) -> {
            if (bound < end || image.position >= end) {
                return 0;
            }
            image.position = end;
            if (opensTerm) {
                handler.onFragment(event, 0, openTerm(r, end), header);
            }
            return FRAGMENT;
        };
        final long now = member.clock.now;
        if (election == null) {
            final int ignored = (int) consensusWork.invoke(member.agent, now, now);
        } else if (cell(r, member.names.electionState) == ElectionState.FOLLOWER_CATCHUP.code()) {
            member.agent.catchupPoll(member.notifiedOf(election), now);
        } else if (member.replayOf(election) != null) {
            member.replayOf(election).doWork();
        }
    }

    private int openTerm(final int[] r, final long end) {
        final io.aeron.cluster.codecs.MessageHeaderEncoder head = new io.aeron.cluster.codecs.MessageHeaderEncoder();
        final io.aeron.cluster.codecs.NewLeadershipTermEventEncoder entry =
            new io.aeron.cluster.codecs.NewLeadershipTermEventEncoder();
        entry.wrapAndApplyHeader(event, 0, head)
            .leadershipTermId(r[cells.leadershipTermId])
            .logPosition(end)
            .timestamp(member.clock.now)
            .termBaseLogPosition(DrivenMember.scaled(r[cells.termBaseLogPosition], member.scale))
            .leaderMemberId(1)
            .logSessionId(DrivenMember.LOG_SESSION)
            .timeUnit(io.aeron.cluster.codecs.ClusterTimeUnit.NANOS)
            .appVersion(member.context.appVersion());
        return head.encodedLength() + entry.encodedLength();
    }

    /** Appends an entry without other effects: an operator requests a snapshot on the standbys. */
    private void appendEntry(final int[] r, final long now) throws Throwable {
        member.logPublication.accepts = true;
        member.logPublication.claimedPosition = DrivenMember.scaled(r[cells.position], member.scale);
        control(ClusterControl.ToggleState.STANDBY_SNAPSHOT, r, now);
    }

    /** Sets the control toggle; a leader that has requested a termination in its term is TERMINATING. */
    private void control(final ClusterControl.ToggleState asked, final int[] r, final long now) throws Throwable {
        if (cell(r, member.names.terminationPosition) != NULL_VALUE
            && cell(r, member.names.terminationLeadershipTermId) == cell(r, member.names.moduleLeadershipTermId)) {
            member.moduleState(ConsensusModule.State.TERMINATING);
        }
        final var toggle = member.context.controlToggleCounter();
        toggle.set(asked.code());
        try {
            final int ignored = (int) checkControlToggle.invoke(member.agent, now);
        } finally {
            toggle.set(ClusterControl.ToggleState.INACTIVE.code());
        }
        if (member.agent.state() == ConsensusModule.State.TERMINATING) {
            member.moduleState(ConsensusModule.State.ACTIVE);
        }
    }

    /** Ends a leader at the deadline for acknowledgements, or a follower at the termination position of the log. */
    private void terminate(final int[] r, final long now) throws Throwable {
        if (cell(r, member.names.role) == 2) {
            member.moduleState(ConsensusModule.State.TERMINATING);
            member.awaitTermination(now - DrivenMember.DAY, true);
            final int ignored = (int) slowTickWork.invoke(member.agent, now);
        } else {
            final int ignored = (int) consensusWork.invoke(member.agent, now, now);
        }
    }

    /** Takes the snapshot that an entry of the log requests at the commit position. */
    private void takeSnapshot(final int[] r, final long now) {
        member.snapshot.clear();
        try {
            member.agent.onReplayClusterAction(
                cell(r, member.names.moduleLeadershipTermId),
                member.commitPosition.get(),
                now,
                io.aeron.cluster.codecs.ClusterAction.SNAPSHOT,
                ConsensusModule.CLUSTER_ACTION_FLAGS_DEFAULT);
        } finally {
            member.archive.forgetSnapshot();
        }
    }

    /** Takes a snapshot and keeps its frames: a restart loads them. */
    void learnSnapshot(final int[] r) {
        takeSnapshot(r, member.clock.now);
        if (member.snapshot.frames() == 0) {
            throw new IllegalStateException("no snapshot was written", member.reported());
        }
        member.aeron.replaySubscription.image =
            DrivenImage.of(DrivenArchive.REPLAY_SESSION, member.aeron.replaySubscription);
    }

    private void restart() throws Throwable {
        member.forgetProcess();
        final int frames = member.snapshot.frames();
        final int[] next = {0};
        member.aeron.replaySubscription.image.content = (handler, bound) -> {
            final int first = next[0];
            while (next[0] < frames) {
                deliver(handler, next[0]++);
            }
            return frames - first;
        };
        final long last = member.recordingLog.findLastTermRecordingId();
        if (last != NULL_VALUE) {
            member.archive.tryStopRecordingByIdentity(last);
        }
        final Object plan = recover.invoke(member.agent);
        member.recoveryPlan.set(member.agent, plan);
        member.startElection(
            number(plan, "lastLeadershipTermId"),
            number(plan, "lastTermBaseLogPosition"),
            number(plan, "appendedLogPosition"));
    }

    private void deliver(final ControlledFragmentHandler handler, final int frame) {
        handler.onFragment(
            member.snapshot.buffer, member.snapshot.payload(frame), member.snapshot.length(frame), header);
    }

    /** Reads a component of the recovery plan, which is a record in some releases. */
    private static long number(final Object plan, final String name) throws ReflectiveOperationException {
        if (plan.getClass().isRecord()) {
            final var accessor = plan.getClass().getDeclaredMethod(name);
            accessor.setAccessible(true);
            return (long) accessor.invoke(plan);
        }
        final var field = plan.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.getLong(plan);
    }
}
