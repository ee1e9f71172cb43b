import com.sun.source.util.JavacTask;
import com.sun.tools.javac.api.BasicJavacTask;
import com.sun.tools.javac.api.JavacTaskPool;
import com.sun.tools.javac.util.Log;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;
import sandboxrun.JavaWarm;

/**
 * JavaWarmBuild --out=DIRECTORY [--train]: JavaBuild in a JVM that waits for its command line, with
 * a warm compiler.
 *
 * For a small program most of the time goes into reading the JDK's classes, so JShell's pool keeps
 * a compiler that has read many.  It serves only one build, and only with the usual options, which
 * determine how these classes are read.
 */
public final class JavaWarmBuild {
    /** The samples are in a package of their own, which no program has. */
    private static final String USUAL = """
        package sandboxrun.rehearsal;

        import java.io.*;
        import java.util.*;
        import java.util.function.*;
        import java.util.stream.*;

        public class Usual {
            record Point(int x, int y) {
                int sum() { return x + y; }
            }
            interface Shape {
                double area();
                default String text() { return "area " + area(); }
            }
            enum Color { RED, GREEN }
            static abstract class Named implements Shape, Comparable<Named> {
                protected final String name;
                private static int count = 0;
                Named(String name) { this.name = name; count++; }
                @Override public int compareTo(Named other) { return name.compareTo(other.name); }
                @Override public String toString() { return String.format("%s %d %.2f", name, count, area()); }
            }
            static class Circle extends Named {
                private final double r;
                Circle(double r) { super("circle"); this.r = r; }
                @Override public double area() { return Math.PI * r * r; }
                @Override public boolean equals(Object o) { return o instanceof Circle c && c.r == r; }
                @Override public int hashCode() { return Objects.hash(r); }
            }
            static <T extends Comparable<T>> T max(List<T> items) {
                T best = items.get(0);
                for (T item : items)
                    if (item.compareTo(best) > 0)
                        best = item;
                return best;
            }
            static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
            public static void main(String[] args) throws Exception {
                Map<String, Integer> counts = new TreeMap<>();
                Map<Integer, List<String>> lengths = new HashMap<>();
                for (String word : "to be or not".split(" ")) {
                    counts.merge(word, 1, Integer::sum);
                    lengths.computeIfAbsent(word.length(), n -> new ArrayList<>()).add(word);
                }
                List<Integer> list = new ArrayList<>(List.of(3, 1, 2));
                list.sort(Comparator.comparing(x -> -x));
                Collections.sort(list);
                System.out.println(list.stream().map(x -> x * 2).filter(x -> x > 1).map(String::valueOf).collect(Collectors.joining(",")));
                System.out.println(IntStream.rangeClosed(1, 9).mapToObj(Integer::toString).collect(Collectors.toList()));
                for (var entry : counts.entrySet())
                    System.out.printf("%s=%d%n", entry.getKey(), entry.getValue());
                try {
                    Object o = max(list);
                    if (o instanceof Integer i && i > 0)
                        System.out.println(i + new Point(1, 2).sum());
                    throw new IllegalStateException("x");
                } catch (IllegalArgumentException | IllegalStateException e) {
                    System.err.println(e.getMessage());
                } finally {
                    System.out.println(fib(10));
                }
                switch (Color.RED) {
                case RED -> System.out.println(1);
                default -> System.out.println("x");
                }
                String text = switch (args.length) {
                case 0 -> "none";
                default -> { yield "some"; }
                };
                int[] squares = new int[10];
                for (int i = 0; i < squares.length; i++)
                    squares[i] = i * i;
                long sum = 0;
                while (sum < 10) {
                    sum += squares[3];
                    if (sum == 4)
                        break;
                }
                StringBuilder b = new StringBuilder();
                b.append(text).append(sum).append(Arrays.toString(squares)).append('c');
                Supplier<Shape> shape = () -> new Circle(2.0);
                BiFunction<Integer, Integer, Integer> add = (x, y) -> x + y;
                Optional<String> some = Stream.of("a", "b").findFirst();
                System.out.println(b.toString() + shape.get().text() + add.apply(1, 2) + some.orElse("") + Math.max(1, 2));
                Thread thread = new Thread(() -> System.out.println("thread"));
                thread.start();
                thread.join();
                Deque<Integer> deque = new ArrayDeque<>();
                PriorityQueue<int[]> queue = new PriorityQueue<>((x, y) -> x[0] - y[0]);
                deque.push(queue.size());
                Set<Character> set = new HashSet<>();
                for (char c : text.toCharArray())
                    set.add(c);
                Scanner in = new Scanner(System.in);
                if (in.hasNextLine())
                    System.out.println(in.nextLine() + Integer.parseInt("1"));
                try (BufferedReader reader = new BufferedReader(new InputStreamReader(System.in))) {
                    String line;
                    while ((line = reader.readLine()) != null)
                        System.out.println(line);
                } catch (IOException e) {
                    System.exit(1);
                }
            }
        }
        """;
    private static final String WRONG = """
        import java.util.*;
        class Wrong {
            int f(List<String> list) { return x + ""; }
            void g() { f(1); String s = 1; new B(); list.size() }
        }
        """;
    private static final int ROUNDS = 2;

    private final JavacTaskPool pool = new JavacTaskPool(1);
    private final JavaFileManager files = ToolProvider.getSystemJavaCompiler().getStandardFileManager(null, null, null);
    private final Field listener;
    private List<String> usual = List.of();

    private JavaWarmBuild() throws ReflectiveOperationException {
        listener = Log.class.getDeclaredField("diagListener");
        listener.setAccessible(true);
    }

    /** The pool leaves a listener set, which would get the messages instead of the writer. */
    private int with(Writer messages, List<String> options, List<JavaFileObject> sources, ToIntFunction<JavacTask> use) {
        boolean modules = sources.stream().anyMatch(source -> source.getName().endsWith("-info.java"));
        if (modules || !usual.equals(options))
            return JavaBuild.compile(messages, options, sources, use);
        Writer out = messages == null ? new PrintWriter(System.err, true) : messages;
        return pool.getTask(out, files, null, options, null, sources, task -> {
            try {
                listener.set(Log.instance(((BasicJavacTask) task).getContext()), null);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
            return use.applyAsInt(task);
        });
    }

    private void rehearse(String out, Path scratch) throws IOException {
        Path usualFile = Files.writeString(scratch.resolve("Usual.java"), USUAL);
        Path wrongFile = Files.writeString(scratch.resolve("Wrong.java"), WRONG);
        for (int i = 0; i < ROUNDS; i++) {
            var build = new JavaBuild(new String[] { "--main=" + usualFile, out, usualFile.toString() });
            usual = build.options();
            build.build(Writer.nullWriter(), this::with);
        }
        new JavaBuild(new String[] { "--main=" + wrongFile, "--out=" + scratch, wrongFile.toString() })
            .build(Writer.nullWriter(), JavaBuild::compile);
        empty(scratch);
        Files.delete(scratch);
        empty(Path.of(out.substring(out.indexOf('=') + 1)));
    }

    private static void empty(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator)
                if (!path.equals(directory))
                    Files.delete(path);
        }
    }

    public static void main(String[] args) throws IOException, ReflectiveOperationException {
        var warm = new JavaWarmBuild();
        warm.rehearse(args[0], Files.createTempDirectory("rehearsal"));
        if (args.length > 1)
            return;
        String[] command;
        try (var channel = new JavaWarm.Channel()) {
            JavaWarm.Order order = channel.await();
            if (order == null)
                Runtime.getRuntime().halt(1);
            command = order.after("JavaBuild");
            if (command == null || !order.isHere())
                channel.refuse();
        }
        System.exit(new JavaBuild(command).build(null, warm::with));
    }
}
