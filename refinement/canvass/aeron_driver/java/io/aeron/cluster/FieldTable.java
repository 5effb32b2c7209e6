package io.aeron.cluster;

import io.aeron.Allocation;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import sun.misc.Unsafe;

/** The private fields and methods of {@code fields.txt}, resolved in the classes of the release. */
final class FieldTable {
    private static final Unsafe UNSAFE = Allocation.UNSAFE;
    private static final String ANY_LAYOUT = "*";

    private final Map<String, Slot> slots = new HashMap<>();
    private final Map<String, MethodHandle> methods = new HashMap<>();

    FieldTable(final List<List<String>> rows, final String layout) {
        for (final List<String> row : rows) {
            final String name = row.get(0);
            final String owner = row.get(1);
            final String member = row.get(2);
            final String type = row.get(3);
            if (!row.get(4).equals(ANY_LAYOUT) && !row.get(4).equals(layout)) {
                slots.put(name, Slot.ABSENT);
            } else if (type.startsWith("method")) {
                methods.put(name, method(owner, member, Integer.parseInt(type.substring("method".length()))));
            } else {
                slots.put(name, slot(owner, member, type));
            }
        }
    }

    Slot field(final String name) {
        final Slot found = slots.get(name);
        if (found == null) {
            throw new MissingMember("the table of fields has no field " + name);
        }
        return found;
    }

    MethodHandle call(final String name) {
        final MethodHandle found = methods.get(name);
        if (found == null) {
            throw new MissingMember("the table of fields has no method " + name);
        }
        return found;
    }

    private static Class<?> classOf(final String owner) {
        try {
            return Class.forName("io.aeron.cluster." + owner);
        } catch (final ClassNotFoundException ex) {
            throw new MissingMember("this release has no class io.aeron.cluster." + owner);
        }
    }

    private static Slot slot(final String owner, final String member, final String type) {
        final Class<?> in = classOf(owner);
        try {
            final Field field = in.getDeclaredField(member);
            final String found = field.getType().isPrimitive() ? field.getType().getName() : "object";
            if (!found.equals(type)) {
                throw new MissingMember(owner + "." + member + " is a field of type " + found + ", not " + type);
            }
            return new Slot(in, UNSAFE.objectFieldOffset(field));
        } catch (final NoSuchFieldException ex) {
            throw new MissingMember("this release has no field " + owner + "." + member);
        }
    }

    private static MethodHandle method(final String owner, final String member, final int parameters) {
        for (final Method method : classOf(owner).getDeclaredMethods()) {
            if (method.getName().equals(member) && method.getParameterCount() == parameters) {
                try {
                    method.setAccessible(true);
                    return MethodHandles.lookup().unreflect(method);
                } catch (final IllegalAccessException ex) {
                    throw new IllegalStateException(ex);
                }
            }
        }
        throw new MissingMember(
            "this release has no method " + owner + "." + member + " of " + parameters + " parameters");
    }

    /** A member that the table names and the release lacks. */
    static final class MissingMember extends RuntimeException {
        private static final long serialVersionUID = 1;

        MissingMember(final String message) {
            super(message);
        }
    }

    /** One field. If the revision of the release has no such field, writing does nothing and reading fails. */
    static final class Slot {
        static final Slot ABSENT = new Slot(null, -1);
        private final Class<?> owner;
        private final long offset;

        Slot(final Class<?> owner, final long offset) {
            this.owner = owner;
            this.offset = offset;
        }

        boolean isPresent() {
            return owner != null;
        }

        private boolean canSet(final Object target) {
            if (owner != null && owner != target.getClass()) {
                throw new IllegalArgumentException(target.getClass() + " is not " + owner);
            }
            return owner != null;
        }

        private void read(final Object target) {
            if (!canSet(target)) {
                throw new IllegalArgumentException("this release has no such field");
            }
        }

        void setLong(final Object target, final long value) {
            if (canSet(target)) {
                UNSAFE.putLong(target, offset, value);
            }
        }

        void setInt(final Object target, final int value) {
            if (canSet(target)) {
                UNSAFE.putInt(target, offset, value);
            }
        }

        void setBoolean(final Object target, final boolean value) {
            if (canSet(target)) {
                UNSAFE.putBoolean(target, offset, value);
            }
        }

        void set(final Object target, final Object value) {
            if (canSet(target)) {
                UNSAFE.putObject(target, offset, value);
            }
        }

        long getLong(final Object target) {
            read(target);
            return UNSAFE.getLong(target, offset);
        }

        int getInt(final Object target) {
            read(target);
            return UNSAFE.getInt(target, offset);
        }

        @SuppressWarnings("unchecked")
        <T> T get(final Object target) {
            read(target);
            return (T) UNSAFE.getObject(target, offset);
        }
    }
}
