package io.aeron;

import io.aeron.logbuffer.ControlledFragmentHandler;
import io.aeron.logbuffer.FragmentHandler;

/** A subscription whose polls deliver nothing; the driver delivers through its image. */
public final class DrivenSubscription extends Subscription {
    private static final String CHANNEL = "aeron:udp?endpoint=localhost:20000";

    public DrivenImage image;

    DrivenSubscription() {
        super(null, null, 0, 0, null, null);
    }

    public static DrivenSubscription create() {
        return Allocation.of(DrivenSubscription.class);
    }

    public int poll(final FragmentHandler handler, final int limit) {
        return 0;
    }

    public int controlledPoll(final ControlledFragmentHandler handler, final int limit) {
        return 0;
    }

    public Image imageBySessionId(final int sessionId) {
        return image;
    }

    public void addDestination(final String endpoint) {
    }

    public long asyncRemoveDestination(final String endpoint) {
        return 1;
    }

    public String channel() {
        return CHANNEL;
    }

    public int streamId() {
        return 1;
    }

    public long registrationId() {
        return 999;
    }

    public String resolvedEndpoint() {
        return null;
    }

    public long channelStatus() {
        return 1;
    }

    public boolean isConnected() {
        return true;
    }

    public boolean isClosed() {
        return false;
    }

    public void close() {
    }
}
