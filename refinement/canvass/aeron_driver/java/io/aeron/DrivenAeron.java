package io.aeron;

import io.aeron.exceptions.RegistrationException;
import java.lang.reflect.Constructor;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.AgentInvoker;
import org.agrona.concurrent.status.AtomicCounter;
import org.agrona.concurrent.status.CountersManager;
import org.agrona.concurrent.status.CountersReader;

/** An Aeron client without a media driver: it returns prepared publications, subscriptions and counters. */
public final class DrivenAeron extends Aeron {
    private static final String SNAPSHOT_ALIAS = "alias=snapshot";
    private static final String REPLAY_ALIAS = "alias=replay";
    public static final String SNAPSHOT_CHANNEL = "aeron:ipc?" + SNAPSHOT_ALIAS;
    public static final String REPLAY_CHANNEL = "aeron:ipc?" + REPLAY_ALIAS;

    public CountersManager counters;
    public DrivenSubscription logSubscription;
    public DrivenSubscription replaySubscription;
    public DrivenPublication logPublication;
    public DrivenPublication snapshotPublication;
    /** Whether subscriptions with image handlers, such as those of ingress, fail. */
    public boolean refusesSubscriptions;
    private AgentInvoker invoker;
    private long correlationId;
    private AtomicCounter recoveryCounter;

    DrivenAeron() {
        super(null);
    }

    public static DrivenAeron of(final CountersManager counters) {
        final DrivenAeron aeron = Allocation.of(DrivenAeron.class);
        aeron.counters = counters;
        aeron.invoker = new AgentInvoker(Throwable::printStackTrace, null, new Idle());
        return aeron;
    }

    /** Whether a channel is the snapshot channel, with or without a session. */
    public static boolean isOfSnapshot(final String channel) {
        return channel.contains(SNAPSHOT_ALIAS);
    }

    /** Makes a counter; releases differ in its constructor. */
    public Counter counter(final String label) {
        return counter(counters.newCounter(label));
    }

    private Counter counter(final AtomicCounter counter) {
        try {
            for (final Constructor<?> each : Counter.class.getConstructors()) {
                if (each.getParameterTypes()[0] == CountersReader.class) {
                    return (Counter) (each.getParameterCount() == 2
                        ? each.newInstance(counters, counter.id())
                        : each.newInstance(counters, ++correlationId, counter.id()));
                }
            }
        } catch (final ReflectiveOperationException ex) {
            throw new IllegalStateException(ex);
        }
        throw new IllegalStateException("io.aeron.Counter has no constructor from a CountersReader");
    }

    public CountersReader countersReader() {
        return counters;
    }

    public long nextCorrelationId() {
        return ++correlationId;
    }

    public boolean isClosed() {
        return false;
    }

    public AgentInvoker conductorAgentInvoker() {
        return invoker;
    }

    public Subscription addSubscription(final String channel, final int streamId) {
        return channel.contains(REPLAY_ALIAS) ? replaySubscription : logSubscription;
    }

    public Subscription addSubscription(
        final String channel,
        final int streamId,
        final AvailableImageHandler available,
        final UnavailableImageHandler unavailable) {
        if (refusesSubscriptions) {
            throw new RegistrationException(0, 0, ErrorCode.GENERIC_ERROR, "the channel is not available");
        }
        return logSubscription;
    }

    /** Returns the log publication at the position that its channel names. */
    public ExclusivePublication addExclusivePublication(final String channel, final int streamId) {
        if (isOfSnapshot(channel)) {
            return snapshotPublication;
        }
        final ChannelUri uri = ChannelUri.parse(channel);
        final int terms = Integer.parseInt(uri.get(CommonContext.TERM_ID_PARAM_NAME))
            - Integer.parseInt(uri.get(CommonContext.INITIAL_TERM_ID_PARAM_NAME));
        final String length = uri.get(CommonContext.TERM_LENGTH_PARAM_NAME);
        logPublication.position = (length == null ? 0 : terms * Long.parseLong(length))
            + Long.parseLong(uri.get(CommonContext.TERM_OFFSET_PARAM_NAME));
        return logPublication;
    }

    public ConcurrentPublication addPublication(final String channel, final int streamId) {
        return null;
    }

    /** Returns the counter of the recovery state; it is never freed, so there is one for all steps. */
    public Counter addCounter(
        final int typeId,
        final DirectBuffer key,
        final int keyOffset,
        final int keyLength,
        final DirectBuffer label,
        final int labelOffset,
        final int labelLength) {
        if (recoveryCounter == null) {
            recoveryCounter = counters.newCounter("recovery");
        }
        return counter(recoveryCounter);
    }

    public boolean removeUnavailableCounterHandler(final long registrationId) {
        return true;
    }

    private static final class Idle implements Agent {
        public int doWork() {
            return 0;
        }

        public String roleName() {
            return "client conductor";
        }
    }
}
