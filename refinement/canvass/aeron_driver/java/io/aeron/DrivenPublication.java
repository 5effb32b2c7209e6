package io.aeron;

import io.aeron.logbuffer.BufferClaim;
import org.agrona.DirectBuffer;

/** A publication that writes frames to a {@link Capture}, or refuses them. */
public final class DrivenPublication extends ExclusivePublication {
    public int receiver;
    public int session;
    public boolean accepts;
    public long position;
    /** The end of the next claimed frame; if it is null, the position does not change. */
    public long claimedPosition;
    public Capture capture;

    DrivenPublication() {
        super(null, null, 0, 0, null, 0, null, 0, 0);
    }

    public static DrivenPublication of(final int receiver, final int session, final Capture capture) {
        final DrivenPublication publication = Allocation.of(DrivenPublication.class);
        publication.receiver = receiver;
        publication.session = session;
        publication.capture = capture;
        publication.accepts = true;
        publication.claimedPosition = Aeron.NULL_VALUE;
        return publication;
    }

    public long tryClaim(final int length, final BufferClaim claim) {
        if (!accepts) {
            return ADMIN_ACTION;
        }
        capture.claim(receiver, length, claim);
        return advance();
    }

    public long offer(
        final DirectBuffer source, final int offset, final int length, final ReservedValueSupplier supplier) {
        if (!accepts) {
            return ADMIN_ACTION;
        }
        capture.write(receiver, source, offset, length);
        return advance();
    }

    private long advance() {
        if (claimedPosition != Aeron.NULL_VALUE) {
            position = claimedPosition;
        }
        return Math.max(position, 1);
    }

    public long position() {
        return position;
    }

    public int sessionId() {
        return session;
    }

    public boolean isConnected() {
        return true;
    }

    public boolean isClosed() {
        return false;
    }

    public void close() {
    }

    public long asyncAddDestination(final String endpoint) {
        return 1;
    }
}
