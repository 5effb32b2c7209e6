package io.aeron.cluster;

import io.aeron.exceptions.AeronException;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.agrona.concurrent.AgentTerminationException;

/**
 * Takes steps on Aeron's own classes. Requests come on standard input and answers go to standard output, both in
 * batches of rows of little-endian 32-bit integers.
 *
 * <p>A batch of requests begins with the number of rows. After the answers follow the length of a text in bytes, and
 * the text: a line for each row with a note, with the number of the row, a tab and the note.
 */
public final class StepDriver {
    private static final int OK = 0;
    private static final int RAISED = 1;
    private static final int THROWN = 2;
    private static final int TERMINATED = 3;
    private static final int WRONG_LAYOUT = 3;
    private static final String OLD_LAYOUT = "1.49";
    private static final String NEW_LAYOUT = "1.50";

    private final Cells cells;
    private final DrivenMember member;
    private final Steps steps;
    private final Wire wire;
    private final List<String> actions;
    private String note;

    private StepDriver(final Layout layout, final Path folder) throws IOException {
        wire = new Wire(layout);
        final String fields = wire.has("NewLeadershipTerm", "commitPosition") ? NEW_LAYOUT : OLD_LAYOUT;
        final FieldTable table = new FieldTable(layout.all("field"), fields);
        member = new DrivenMember(layout, table, folder);
        cells = member.cells;
        actions = layout.list("actions");
        steps = new Steps(member, wire);
        learnSnapshot(layout);
    }

    /** {@code StepDriver LAYOUT FOLDER}: the layout file, and a folder for recording log and node state. */
    public static void main(final String[] arguments) throws IOException {
        final DataOutputStream out = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        System.setOut(System.err);
        final StepDriver driver;
        try {
            driver = new StepDriver(new Layout(Path.of(arguments[0])), Path.of(arguments[1]));
        } catch (final FieldTable.MissingMember | IllegalArgumentException ex) {
            System.err.println(ex.getMessage());
            System.exit(WRONG_LAYOUT);
            return;
        }
        driver.serve(new DataInputStream(new FileInputStream(FileDescriptor.in)), out);
    }

    private void serve(final DataInputStream in, final DataOutputStream out) throws IOException {
        final byte[] head = new byte[Integer.BYTES];
        while (true) {
            try {
                in.readFully(head);
            } catch (final EOFException ex) {
                return;
            }
            final int rows = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN).getInt();
            final byte[] given = new byte[rows * cells.requestWidth * Integer.BYTES];
            in.readFully(given);
            final IntBuffer requests = ByteBuffer.wrap(given).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
            final ByteBuffer taken =
                ByteBuffer.allocate(rows * cells.answerWidth * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            final IntBuffer answers = taken.asIntBuffer();
            final StringBuilder notes = new StringBuilder();
            final int[] request = new int[cells.requestWidth];
            final int[] answer = new int[cells.answerWidth];
            for (int row = 0; row < rows; row++) {
                requests.get(request);
                note = "";
                take(request, answer);
                answers.put(answer);
                if (!note.isEmpty()) {
                    notes.append(row).append('\t').append(note.replaceAll("\\s+", " ")).append('\n');
                }
            }
            final byte[] text = notes.toString().getBytes(StandardCharsets.UTF_8);
            out.write(taken.array());
            out.write(ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN).putInt(text.length).array());
            out.write(text);
            out.flush();
        }
    }

    private void take(final int[] request, final int[] answer) {
        Arrays.fill(answer, -1);
        try {
            member.put(request, new Hidden(request[1]));
        } catch (final Exception ex) {
            throw new IllegalStateException("the state cannot be set: " + Arrays.toString(request), ex);
        }
        answer[0] = attempt(actions.get(request[0]), request);
        member.read(answer, request);
        int count = 0;
        for (int frame = 0; frame < member.sent.frames(); frame++) {
            if (member.sent.isCommitted(frame)) {
                final int at = cells.answerSends + 1 + count++ * (1 + cells.messageWidth);
                answer[at] = member.sent.receiver(frame);
                wire.decode(member.sent, frame, answer, at + 1);
            }
        }
        answer[cells.answerSends] = count;
    }

    /** Takes the step; handles an exception as the agent's duty cycle does. */
    private int attempt(final String action, final int[] request) {
        try {
            steps.take(action, request);
            if (member.archive.isAwaited) {
                note = "a requested recording has not begun";
            }
            if (member.reported() != null) {
                note = "reported " + member.reported().getMessage();
            }
            return OK;
        } catch (final AgentTerminationException ex) {
            return TERMINATED;
        } catch (final Exception ex) {
            final Election election = member.electionOf();
            note = "threw " + ex.getMessage();
            if (!(ex instanceof AeronException)) {
                note = "threw " + ex + " at " + (ex.getStackTrace().length == 0 ? "?" : ex.getStackTrace()[0]);
            }
            if (election != null) {
                election.handleError(member.clock.now, ex);
                return ex instanceof AeronException ? RAISED : THROWN;
            }
            return THROWN;
        } catch (final Throwable ex) {
            throw new IllegalStateException(action + ": " + Arrays.toString(request), ex);
        }
    }

    private void learnSnapshot(final Layout layout) throws IOException {
        final int[] request = new int[cells.requestWidth];
        Arrays.fill(request, -1);
        final StateNames names = member.names;
        final int s = cells.stateStart;
        for (final int zero : new int[] {
            names.moduleState, names.role, names.moduleLeadershipTermId, names.moduleNotifiedCommitPosition,
            names.snapshotTermBaseLogPosition, names.snapshotLogPosition, names.catchupDestination}) {
            request[s + zero] = 0;
        }
        request[1] = 0;
        request[cells.active] = 0;
        request[s + names.logSubscription] = 1;
        request[s + names.recordedPosition] = 1;
        request[s + names.commitPosition] = 1;
        request[s + names.leaderMemberId] = 0;
        request[s + names.electionState] = ElectionState.CLOSED.code();
        request[s + cells.logOffset] = 1;
        request[s + cells.logOffset + 1] = 0;
        request[s + cells.logOffset + 2] = 0;
        member.put(request, new Hidden(0));
        steps.learnSnapshot(request);
    }
}
