// SessionJava.java: the Java kernel of a session, by JShell, on the descriptor that
// SANDBOX_RUN_KERNEL_FD names.
//
// The cells run in this JVM.  A place in a snippet of JShell becomes the line of its cell.
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import jdk.jshell.Diag;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.SourceCodeAnalysis.Completeness;
import jdk.jshell.UnresolvedReferenceException;

public class SessionJava {
    private static final int LARGEST = 16 << 20, SHORT = 80;
    private static final String[] IMPORTS = { "java.io", "java.math", "java.net", "java.nio.file", "java.util",
        "java.util.concurrent", "java.util.function", "java.util.regex", "java.util.stream" };

    private record Place(long cell, int line) { }
    private record Failure(String type, String message, List<String> frames) { }

    private final DataInputStream in;
    private final OutputStream out;
    private final JShell shell = JShell.builder().executionEngine("local").build();
    private final SourceCodeAnalysis analysis = shell.sourceCodeAnalysis();
    private final Map<String, Place> places = new HashMap<>(); // of a snippet
    private volatile boolean running, interrupted;

    private SessionJava(FileDescriptor channel) {
        in = new DataInputStream(new FileInputStream(channel));
        out = new FileOutputStream(channel);
    }

    private static String json(String text) {
        StringBuilder result = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\')
                result.append('\\').append(c);
            else if (c < ' ' || Character.isSurrogate(c))
                result.append(String.format("\\u%04x", (int) c));
            else
                result.append(c);
        }
        return result.append('"').toString();
    }

    private synchronized void send(String word, long number, String argument, String payload) throws IOException {
        byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > LARGEST)
            bytes = "{\"text/plain\": \"(too long to show)\"}".getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream frame = new ByteArrayOutputStream();
        frame.write((word + " " + number + " " + argument + " " + bytes.length + "\n").getBytes(StandardCharsets.UTF_8));
        frame.write(bytes);
        out.write(frame.toByteArray());
    }

    private static int lines(String text) {
        return (int) text.chars().filter(c -> c == '\n').count();
    }

    private String frame(StackTraceElement element) {
        String file = element.getFileName() == null ? "" : element.getFileName();
        Place place = file.startsWith("#") ? places.get(file.substring(1)) : null;
        int line = place == null ? element.getLineNumber() : place.line() + element.getLineNumber() - 1;
        String name = place == null ? file : "cell-" + place.cell();
        return "{\"file\": " + json(name) + ", \"line\": " + Math.max(line, 0) + ", \"function\": "
            + json(element.getMethodName()) + "}";
    }

    private static boolean isOurs(StackTraceElement element) {
        return element.getClassName().matches("(jdk\\.(internal|jshell)|java\\.lang\\.(reflect|invoke)|SessionJava).*")
            || element.getMethodName().equals("do_it$");
    }

    private Failure thrown(SnippetEvent event) {
        Exception error = event.exception();
        if (error instanceof UnresolvedReferenceException missing)
            return new Failure("Unresolved", "needs " + String.join(", ",
                shell.unresolvedDependencies(missing.getSnippet()).toList()), List.of());
        String type = error instanceof EvalException e ? e.getExceptionClassName() : error.getClass().getName();
        String message = error.getMessage() == null ? "" : error.getMessage();
        List<String> frames = new ArrayList<>();
        System.err.println("Exception " + type + (message.isEmpty() ? "" : ": " + message));
        for (StackTraceElement element : error.getStackTrace()) {
            boolean cell = element.getFileName() != null && element.getFileName().startsWith("#");
            if (!cell && isOurs(element))
                continue;
            frames.add(frame(element));
            String place = frame(element).replaceAll(".*\"file\": \"(.*?)\", \"line\": (\\d+).*", "$1:$2");
            String method = element.getMethodName();
            System.err.println("\tat " + (method.isBlank() || method.equals("do_it$") ? place : method + " (" + place + ")"));
        }
        return new Failure(type, message, frames);
    }

    private Failure rejected(Snippet snippet, long cell, int line) {
        Failure first = null;
        for (Diag diag : shell.diagnostics(snippet).filter(Diag::isError).toList()) {
            int at = line + lines(snippet.source().substring(0, (int) Math.max(0, Math.min(diag.getPosition(),
                snippet.source().length()))));
            String message = diag.getMessage(Locale.ROOT);
            System.err.println("cell-" + cell + ":" + at + ": error: " + message);
            if (first == null)
                first = new Failure("CompileError", message.lines().findFirst().orElse(""),
                    List.of("{\"file\": \"cell-" + cell + "\", \"line\": " + at + ", \"function\": \"\"}"));
        }
        return first == null ? new Failure("CompileError", "the cell cannot be compiled", List.of()) : first;
    }

    private static boolean showsValue(Snippet snippet) {
        return switch (snippet.subKind()) {
            case VAR_VALUE_SUBKIND, TEMP_VAR_EXPRESSION_SUBKIND, OTHER_EXPRESSION_SUBKIND -> true;
            default -> false;
        };
    }

    /* Runs the snippets of a cell up to the first that fails. */
    private Failure run(long cell, String code) throws IOException {
        String rest = code, value = null;
        while (!rest.isBlank()) {
            SourceCodeAnalysis.CompletionInfo info = analysis.analyzeCompletion(rest);
            String source = info.source() == null ? rest : info.source();
            String consumed = rest.substring(0, rest.length() - (info.source() == null ? 0 : info.remaining().length()));
            int blank = consumed.length() - consumed.stripLeading().length();
            int line = 1 + lines(code.substring(0, code.length() - rest.length())) + lines(consumed.substring(0, blank));
            // JShell numbers snippets as they come; a place is known before the snippet runs.
            places.put(String.valueOf(shell.snippets().count() + 1), new Place(cell, line));
            value = null;
            for (SnippetEvent event : shell.eval(source.strip())) {
                places.put(event.snippet().id(), new Place(cell, line));
                if (event.causeSnippet() != null)
                    continue;
                if (event.exception() != null)
                    return thrown(event);
                if (event.status() == Snippet.Status.REJECTED)
                    return rejected(event.snippet(), cell, line);
                value = showsValue(event.snippet()) ? event.value() : null;
            }
            if (interrupted)
                return null;
            rest = info.source() == null ? "" : info.remaining();
        }
        if (value != null && !value.isEmpty())
            send("display", cell, "-", "{\"text/plain\": " + json(value) + "}");
        return null;
    }

    private void execute(long cell, String code) throws IOException {
        interrupted = false;
        running = true;
        Failure failure = run(cell, code);
        running = false;
        System.out.flush();
        System.err.flush();
        if (interrupted)
            send("done", cell, "interrupted", "{}");
        else if (failure == null)
            send("done", cell, "ok", "{}");
        else
            send("done", cell, "error", "{\"type\": " + json(failure.type()) + ", \"message\": " + json(failure.message())
                + ", \"frames\": [" + String.join(", ", failure.frames()) + "]}");
    }

    private String check(String code) {
        String rest = code;
        while (!rest.isBlank()) {
            SourceCodeAnalysis.CompletionInfo info = analysis.analyzeCompletion(rest);
            if (info.completeness() == Completeness.DEFINITELY_INCOMPLETE)
                return "incomplete";
            if (info.completeness() == Completeness.UNKNOWN)
                return "invalid";
            rest = info.remaining() == null ? "" : info.remaining();
        }
        return "complete";
    }

    private String complete(String code, int cursor) {
        byte[] bytes = code.getBytes(StandardCharsets.UTF_8);
        String before = new String(bytes, 0, Math.min(cursor, bytes.length), StandardCharsets.UTF_8);
        int[] anchor = { before.length() };
        TreeSet<String> found = new TreeSet<>();
        analysis.completionSuggestions(before, before.length(), anchor).forEach(s -> found.add(json(s.continuation())));
        int start = before.substring(0, anchor[0]).getBytes(StandardCharsets.UTF_8).length;
        return "{\"matches\": [" + String.join(", ", found) + "], \"start\": " + start + "}";
    }

    private String variables() {
        List<String> found = new ArrayList<>();
        shell.variables().filter(v -> !v.name().startsWith("$")).forEach(v -> {
            String value = shell.varValue(v);
            found.add("{\"name\": " + json(v.name()) + ", \"type\": " + json(v.typeName()) + ", \"size\": " + value.length()
                + ", \"value\": " + json(value.length() > SHORT ? value.substring(0, SHORT - 3) + "..." : value) + "}");
        });
        return "{\"vars\": [" + String.join(", ", found) + "]}";
    }

    private String header() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0 || line.length() > 128)
                return null;
            line.append((char) c);
        }
        return line.toString();
    }

    private void serve() throws IOException {
        for (String header = header(); header != null; header = header()) {
            String[] words = header.split(" ");
            long number = Long.parseLong(words[1]);
            byte[] payload = new byte[Math.min(Integer.parseInt(words[3]), LARGEST)];
            in.readFully(payload);
            String code = new String(payload, StandardCharsets.UTF_8);
            switch (words[0]) {
                case "execute" -> execute(number, code);
                case "check" -> send("answer", number, check(code), "{\"indent\": \"\"}");
                case "complete" -> send("answer", number, "ok", complete(code, Integer.parseInt(words[2])));
                case "vars" -> send("answer", number, "ok", variables());
                default -> send("answer", number, "invalid", "{\"message\": \"this kernel cannot do that\"}");
            }
        }
    }

    private void interrupt() {
        if (!running)
            return;
        interrupted = true;
        shell.stop();
    }

    public static void main(String[] words) throws Exception {
        var make = FileDescriptor.class.getDeclaredConstructor(int.class);
        make.setAccessible(true);
        SessionJava kernel = new SessionJava(make.newInstance(Integer.parseInt(System.getenv("SANDBOX_RUN_KERNEL_FD"))));
        sun.misc.Signal.handle(new sun.misc.Signal("INT"), signal -> kernel.interrupt());
        for (String path : words)
            kernel.shell.addToClasspath(path);
        for (String name : IMPORTS)
            kernel.shell.eval("import " + name + ".*;");
        kernel.send("ready", 0, "-", "{\"version\": " + json(System.getProperty("java.version"))
            + ", \"can\": [\"check\", \"complete\", \"vars\"], \"pid\": " + ProcessHandle.current().pid() + "}");
        kernel.serve();
        System.exit(0);
    }
}
