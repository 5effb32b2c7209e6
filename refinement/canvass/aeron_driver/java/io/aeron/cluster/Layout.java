package io.aeron.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The meaning of the stream's cells, as {@code driver.py} writes it: one line for each list, its name first.
 */
final class Layout {
    private final Map<String, List<List<String>>> lines = new HashMap<>();

    Layout(final Path file) throws IOException {
        for (final String line : Files.readAllLines(file)) {
            final List<String> words = Arrays.asList(line.trim().split("\\s+"));
            if (!line.isBlank() && !line.startsWith("#")) {
                lines.computeIfAbsent(words.get(0), name -> new ArrayList<>()).add(words.subList(1, words.size()));
            }
        }
    }

    /** The words of the only line with this name. */
    List<String> list(final String name) {
        return all(name).get(0);
    }

    List<List<String>> all(final String name) {
        final List<List<String>> found = lines.get(name);
        if (found == null) {
            throw new IllegalArgumentException("the layout has no line " + name);
        }
        return found;
    }

    int number(final String name) {
        return Integer.parseInt(list(name).get(0));
    }

    /** The place of a word in a list. */
    int index(final String name, final String word) {
        final int found = list(name).indexOf(word);
        if (found < 0) {
            throw new IllegalArgumentException("the layout has no " + word + " among " + name);
        }
        return found;
    }
}
