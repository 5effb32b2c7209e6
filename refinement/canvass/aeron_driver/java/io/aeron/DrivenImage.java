package io.aeron;

import io.aeron.logbuffer.ControlledFragmentHandler;

/** The image of a log stream, of a replay or of a snapshot. */
public final class DrivenImage extends Image {
    /** Delivers the fragments between the position and a bound, and returns their number. */
    public interface Content {
        int poll(ControlledFragmentHandler handler, long bound);
    }

    public long position;
    public long joinPosition;
    public int session;
    public boolean isClosed;
    public boolean isEndOfStream;
    public DrivenSubscription subscription;
    public Content content;

    DrivenImage() {
        super(null, 0, null, null, null, null, 0);
    }

    public static DrivenImage of(final int session, final DrivenSubscription subscription) {
        final DrivenImage image = Allocation.of(DrivenImage.class);
        image.session = session;
        image.subscription = subscription;
        return image;
    }

    public long position() {
        return position;
    }

    public long joinPosition() {
        return joinPosition;
    }

    public Subscription subscription() {
        return subscription;
    }

    public int sessionId() {
        return session;
    }

    public boolean isClosed() {
        return isClosed;
    }

    public boolean isEndOfStream() {
        return isEndOfStream;
    }

    public long endOfStreamPosition() {
        return isEndOfStream ? position : Long.MAX_VALUE;
    }

    public int termBufferLength() {
        return 1 << 16;
    }

    public int boundedControlledPoll(final ControlledFragmentHandler handler, final long bound, final int limit) {
        return content == null ? 0 : content.poll(handler, bound);
    }

    public int controlledPoll(final ControlledFragmentHandler handler, final int limit) {
        return content == null ? 0 : content.poll(handler, Long.MAX_VALUE);
    }
}
