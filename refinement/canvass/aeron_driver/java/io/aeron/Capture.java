package io.aeron;

import io.aeron.logbuffer.BufferClaim;
import io.aeron.protocol.DataHeaderFlyweight;
import java.nio.ByteBuffer;
import org.agrona.BitUtil;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** The frames that a step wrote to publications, in their order. */
public final class Capture {
    private static final int CAPACITY = 1 << 16;
    private static final int FRAMES = 64;

    public final UnsafeBuffer buffer = new UnsafeBuffer(ByteBuffer.allocateDirect(CAPACITY));
    private final int[] receivers = new int[FRAMES];
    private final int[] offsets = new int[FRAMES];
    private int frames;
    private int end;

    public void clear() {
        frames = 0;
        end = 0;
    }

    public int frames() {
        return frames;
    }

    public int receiver(final int frame) {
        return receivers[frame];
    }

    /** The offset of the payload of a frame. */
    public int payload(final int frame) {
        return offsets[frame] + DataHeaderFlyweight.HEADER_LENGTH;
    }

    public int length(final int frame) {
        return buffer.getInt(offsets[frame]) - DataHeaderFlyweight.HEADER_LENGTH;
    }

    /** Whether the sender has committed the claimed frame. */
    public boolean isCommitted(final int frame) {
        return buffer.getInt(offsets[frame]) > 0;
    }

    void claim(final int receiver, final int length, final BufferClaim claim) {
        final int total = DataHeaderFlyweight.HEADER_LENGTH + length;
        final int offset = next(receiver, total);
        buffer.putInt(offset, -total);
        claim.wrap(buffer, offset, total);
    }

    void write(final int receiver, final DirectBuffer source, final int index, final int length) {
        final int total = DataHeaderFlyweight.HEADER_LENGTH + length;
        final int offset = next(receiver, total);
        buffer.putInt(offset, total);
        buffer.putBytes(offset + DataHeaderFlyweight.HEADER_LENGTH, source, index, length);
    }

    private int next(final int receiver, final int total) {
        final int offset = end;
        receivers[frames] = receiver;
        offsets[frames++] = offset;
        end = BitUtil.align(end + total, DataHeaderFlyweight.HEADER_LENGTH);
        buffer.setMemory(offset, DataHeaderFlyweight.HEADER_LENGTH, (byte) 0);
        return offset;
    }
}
