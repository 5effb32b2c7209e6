package io.aeron;

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** Makes objects without calling constructors: constructors of the real classes would open sockets and files. */
public final class Allocation {
    public static final Unsafe UNSAFE = unsafe();

    private Allocation() {}

    @SuppressWarnings("unchecked")
    public static <T> T of(final Class<T> type) {
        try {
            return (T) UNSAFE.allocateInstance(type);
        } catch (final InstantiationException ex) {
            throw new IllegalStateException(ex);
        }
    }

    private static Unsafe unsafe() {
        try {
            final Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (final ReflectiveOperationException ex) {
            throw new IllegalStateException(ex);
        }
    }
}
