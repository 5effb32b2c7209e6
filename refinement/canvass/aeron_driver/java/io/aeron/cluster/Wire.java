package io.aeron.cluster;

import io.aeron.Capture;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** Converts consensus messages between cells of the stream and bytes of the release's own SBE schema. */
final class Wire {
    private static final String CODECS = "io.aeron.cluster.codecs.";
    private static final int HEADER = 8;
    private static final int ABSENT = -1;
    private static final byte[] ENDPOINT = "localhost:20000".getBytes(StandardCharsets.US_ASCII);

    final UnsafeBuffer buffer = new UnsafeBuffer(new byte[512]);
    private final Type[] types;
    private final Map<Integer, Integer> codes = new HashMap<>();
    private final long scale;
    private final int width;

    Wire(final Layout layout) {
        scale = layout.number("scale");
        width = layout.list("message").size();
        final List<List<String>> rows = layout.all("type");
        types = new Type[rows.size()];
        for (int code = 0; code < types.length; code++) {
            types[code] = new Type(layout, rows.get(code));
            codes.put(types[code].templateId, code);
        }
    }

    /** Encodes a message of the stream and returns its length. */
    int encode(final int code, final int[] cells, final int offset) {
        final Type type = types[code];
        buffer.setMemory(0, 256, (byte) 0);
        type.putHeader(buffer);
        for (final Value value : type.constants) {
            value.put(buffer, value.constant);
        }
        for (final Value value : type.values) {
            if (value.offset != ABSENT) {
                value.put(buffer, value.scaled(cells[offset + value.column], scale));
            }
        }
        final int end = HEADER + type.blockLength;
        buffer.putInt(end, ENDPOINT.length);
        buffer.putBytes(end + 4, ENDPOINT);
        return end + 4 + ENDPOINT.length;
    }

    /** Writes a sent message into cells: the code of its type, then the fields of all types. */
    void decode(final Capture capture, final int frame, final int[] cells, final int offset) {
        final DirectBuffer sent = capture.buffer;
        final int start = capture.payload(frame);
        final int template = Short.toUnsignedInt(sent.getShort(start + 2));
        final Integer code = codes.get(template);
        if (code == null) {
            throw new IllegalStateException("a step sent a message of template " + template);
        }
        for (int k = 0; k <= width; k++) {
            cells[offset + k] = ABSENT;
        }
        cells[offset] = code;
        for (final Value value : types[code].values) {
            if (value.offset != ABSENT) {
                cells[offset + 1 + value.column] = value.unscaled(value.get(sent, start), scale);
            }
        }
    }

    /** Whether the release's message with this name has the field. */
    boolean has(final String message, final String field) {
        for (final Type type : types) {
            if (type.name.equals(message)) {
                for (final Value value : type.values) {
                    if (value.name.equals(field)) {
                        return value.offset != ABSENT;
                    }
                }
            }
        }
        return false;
    }

    private static final class Type {
        final String name;
        final int templateId;
        final int blockLength;
        final int schemaId;
        final int version;
        final Value[] values;
        final Value[] constants;

        /** Reads a line of the layout: the name, then for each field its name in the schema and its column. */
        Type(final Layout layout, final List<String> row) {
            name = row.get(0);
            try {
                final Class<?> codec = Class.forName(CODECS + name + "Decoder");
                templateId = codec.getField("TEMPLATE_ID").getInt(null);
                blockLength = codec.getField("BLOCK_LENGTH").getInt(null);
                schemaId = codec.getField("SCHEMA_ID").getInt(null);
                version = codec.getField("SCHEMA_VERSION").getInt(null);
                values = new Value[(row.size() - 1) / 2];
                for (int k = 0; k < values.length; k++) {
                    values[k] = new Value(codec, row.get(1 + 2 * k), layout.index("message", row.get(2 + 2 * k)), 0);
                }
                constants = name.equals("NewLeadershipTerm")
                    ? new Value[] {
                        new Value(codec, "leaderRecordingId", ABSENT, DrivenMember.LEADER_RECORDING),
                        new Value(codec, "logSessionId", ABSENT, DrivenMember.LOG_SESSION)}
                    : new Value[0];
            } catch (final ReflectiveOperationException ex) {
                throw new FieldTable.MissingMember("this release has no codec of " + name + ": " + ex.getMessage());
            }
        }

        void putHeader(final UnsafeBuffer buffer) {
            buffer.putShort(0, (short) blockLength);
            buffer.putShort(2, (short) templateId);
            buffer.putShort(4, (short) schemaId);
            buffer.putShort(6, (short) version);
        }
    }

    private static final class Value {
        final String name;
        final int column;
        final long constant;
        final boolean isPosition;
        final int offset;
        final int length;

        Value(final Class<?> codec, final String name, final int column, final long constant)
            throws ReflectiveOperationException {
            this.name = name;
            this.column = column;
            this.constant = constant;
            isPosition = name.endsWith("osition");
            final Method place = method(codec, name + "EncodingOffset");
            offset = place == null ? ABSENT : (int) place.invoke(null);
            length = place == null ? 0 : (int) codec.getMethod(name + "EncodingLength").invoke(null);
        }

        private static Method method(final Class<?> codec, final String name) {
            try {
                return codec.getMethod(name);
            } catch (final NoSuchMethodException ex) {
                return null;
            }
        }

        long scaled(final int cell, final long scale) {
            return isPosition ? DrivenMember.scaled(cell, scale) : cell;
        }

        int unscaled(final long value, final long scale) {
            return isPosition ? DrivenMember.unscaled(value, scale) : (int) value;
        }

        void put(final UnsafeBuffer buffer, final long value) {
            final int at = HEADER + offset;
            switch (length) {
                case 8 -> buffer.putLong(at, value);
                case 4 -> buffer.putInt(at, (int) value);
                case 2 -> buffer.putShort(at, (short) value);
                default -> buffer.putByte(at, (byte) value);
            }
        }

        long get(final DirectBuffer buffer, final int start) {
            final int at = start + HEADER + offset;
            return switch (length) {
                case 8 -> buffer.getLong(at);
                case 4 -> buffer.getInt(at);
                case 2 -> buffer.getShort(at);
                default -> buffer.getByte(at);
            };
        }
    }
}
