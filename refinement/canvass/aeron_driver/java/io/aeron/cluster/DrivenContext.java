package io.aeron.cluster;

import io.aeron.Allocation;
import io.aeron.DrivenAeron;
import io.aeron.cluster.service.ClusterClock;
import io.aeron.cluster.service.SnapshotDurationTracker;
import io.aeron.driver.DutyCycleTracker;
import io.aeron.security.AuthorisationService;
import io.aeron.security.DefaultAuthenticatorSupplier;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.agrona.concurrent.CountedErrorHandler;
import org.agrona.concurrent.IdleStrategy;

/** The context of the consensus module of a cluster without services, with the driver's ports. */
final class DrivenContext {
    private static final int MAX_IDLES = 100_000;

    private DrivenContext() {}

    static ConsensusModule.Context of(
        final DrivenAeron aeron,
        final RecordingLog recordingLog,
        final NodeStateFile nodeStateFile,
        final LogPublisher logPublisher,
        final ClusterClock clock,
        final int memberCount,
        final CountedErrorHandler errorHandler) {
        final StringBuilder members = new StringBuilder();
        for (int id = 0; id < memberCount; id++) {
            members.append(id == 0 ? "" : "|").append(id);
            for (int port = 20000; port < 20005; port++) {
                members.append(",localhost:").append(port);
            }
        }
        return new ConsensusModule.Context()
            .aeron(aeron)
            .recordingLog(recordingLog)
            .nodeStateFile(nodeStateFile)
            .logPublisher(logPublisher)
            .clusterClock(clock)
            .epochClock(clock::timeMillis)
            .random(new Random(1))
            .countedErrorHandler(errorHandler)
            .egressPublisher(Allocation.of(EgressPublisher.class))
            .moduleStateCounter(aeron.counter("module state"))
            .electionStateCounter(aeron.counter("election state"))
            .electionCounter(aeron.counter("elections"))
            .commitPositionCounter(aeron.counter("commit position"))
            .clusterNodeRoleCounter(aeron.counter("role"))
            .controlToggleCounter(aeron.counter("control toggle"))
            .nodeControlToggleCounter(aeron.counter("node control toggle"))
            .leadershipTermIdCounter(aeron.counter("leadership term id"))
            .snapshotCounter(aeron.counter("snapshots"))
            .timedOutClientCounter(aeron.counter("timed out clients"))
            .clusterMembers(members.toString())
            .clusterMemberId(0)
            .serviceCount(0)
            .fileSyncLevel(0)
            .ingressChannel("aeron:udp?endpoint=localhost:20010")
            .logChannel("aeron:udp?control-mode=manual")
            .replayChannel(DrivenAeron.REPLAY_CHANNEL)
            .snapshotChannel(DrivenAeron.SNAPSHOT_CHANNEL)
            .replicationChannel("aeron:udp?endpoint=localhost:0")
            .leaderArchiveControlChannel("aeron:udp")
            .dutyCycleTracker(new DutyCycleTracker())
            .totalSnapshotDurationTracker(new SnapshotDurationTracker(
                aeron.counter("snapshot duration"), aeron.counter("long snapshots"), Long.MAX_VALUE >> 1))
            .clusterTimeConsumerSupplier(context -> time -> { })
            .idleStrategySupplier(BoundedIdleStrategy::new)
            .timerServiceSupplier((unit, handler) -> new PriorityHeapTimerService(handler))
            .authenticatorSupplier(new DefaultAuthenticatorSupplier())
            .authorisationServiceSupplier(() -> AuthorisationService.DENY_ALL)
            .appVersionValidator(AppVersionValidator.SEMANTIC_VERSIONING_VALIDATOR);
    }

    /** A clock that does not advance within a step. */
    static final class Clock implements ClusterClock {
        long now;

        public TimeUnit timeUnit() {
            return TimeUnit.NANOSECONDS;
        }

        public long time() {
            return now;
        }
    }

    /** An idle strategy that fails at last: no other thread works, so a waiting step would wait for ever. */
    private static final class BoundedIdleStrategy implements IdleStrategy {
        private int idles;

        public void idle(final int workCount) {
            idle();
        }

        public void idle() {
            if (++idles > MAX_IDLES) {
                throw new IllegalStateException("the step waits for something that the driver does not do");
            }
        }

        public void reset() {
            idles = 0;
        }
    }
}
