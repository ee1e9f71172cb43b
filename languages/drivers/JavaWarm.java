package sandboxrun;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigInteger;
import java.nio.charset.Charset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Scanner;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jdk.internal.vm.annotation.Hidden;
import sun.reflect.ReflectionFactory;

/**
 * JavaWarm @FILE [zygote]: a JVM that waits for its program, then does what `java @FILE ARGUMENT...`
 * does.  With `zygote` this JVM waits for no program: each of its copies does.
 *
 * The program must not see the difference.  So this class is in -Xbootclasspath/a, not on the class
 * path: there the JVM honours @Hidden, which omits main() from the program's stack traces, and no
 * class of the program can replace one of ours.  It makes no thread, because threads are numbered.
 * For what it cannot do in the same way, the driver reports that to init, which executes the
 * command line instead, and ends.
 */
public final class JavaWarm {
    /** The socket of src/wire/zygote.h; closed before the program starts. */
    public static final class Channel implements AutoCloseable {
        private static final int NUMBER = 3;
        private final FileInputStream in;
        private final FileOutputStream out;

        public Channel() throws ReflectiveOperationException {
            var descriptor = (FileDescriptor) make(FileDescriptor.class, int.class, NUMBER);
            in = new FileInputStream(descriptor);
            out = new FileOutputStream(descriptor);
        }

        /** The order for a run; null when the other side has closed the socket. */
        public Order await() throws IOException {
            out.write('R');
            byte[] bytes = new byte[1 << 16];
            int len = 0;
            for (int n; (n = in.read(bytes, len, bytes.length - len)) > 0;) {
                len += n;
                if (len == bytes.length)
                    bytes = Arrays.copyOf(bytes, 2 * len);
            }
            return len == 0 ? null : new Order(Arrays.copyOf(bytes, len));
        }

        /** Ends this process, so that the command line is executed instead. */
        public void refuse() throws IOException {
            out.write('X');
            Runtime.getRuntime().halt(1);
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }

    /** Work directory, command line and environment. */
    public static final class Order {
        public final String directory;
        public final List<String> command;
        private final List<String> variables;
        private final byte[] bytes;

        Order(byte[] bytes) {
            List<String> words = Arrays.asList(new String(bytes, platform()).split("\0", -1));
            int end = 2 + Integer.parseInt(words.get(1));
            this.bytes = bytes;
            directory = words.get(0);
            command = words.subList(2, end);
            variables = words.subList(end + 1, end + 1 + Integer.parseInt(words.get(end)));
        }

        /** The words after `word` in the command line; null without it. */
        public String[] after(String word) {
            int at = command.indexOf(word);
            return at < 0 ? null : command.subList(at + 1, command.size()).toArray(new String[0]);
        }

        /** A JVM cannot change its current directory. */
        public boolean isHere() {
            return directory.equals(System.getProperty("user.dir"));
        }

        /** Nor its environment, once it has looked at it. */
        private boolean isAround() {
            Map<String, String> wanted = new HashMap<>();
            for (String variable : variables) {
                int end = variable.indexOf('=', 1);
                if (end > 0)
                    wanted.put(variable.substring(0, end), variable.substring(end + 1));
            }
            return wanted.equals(System.getenv());
        }

        /** False: only another JVM can have the environment of this order. */
        private boolean takeEnvironment() {
            return isCopy ? putEnvironment(bytes) : isAround();
        }
    }

    /** The class to start and its main method; null if only the launcher can start it. */
    private static final class Start {
        private final Class<?> type;
        private final Method main;

        private Start(Class<?> type, Method main) {
            this.type = type;
            this.main = main;
        }

        /**
         * The launcher's rules for a main method of the class itself: the usual one, else from JDK
         * 25 on others.
         */
        static Start of(String name) {
            try {
                Class<?> type = Class.forName(name, false, ClassLoader.getSystemClassLoader());
                boolean instances = Runtime.version().feature() >= 25;
                Method main = Arrays.stream(type.getMethods()).anyMatch(Start::isUsual)
                    ? type.getMethod("main", String[].class) : instances ? unusual(type) : null;
                boolean own = main != null && main.getDeclaringClass() == type && main.getReturnType() == void.class;
                return own && (instances || Modifier.isStatic(main.getModifiers())) ? new Start(type, main) : null;
            } catch (ReflectiveOperationException | LinkageError e) {
                return null;
            }
        }

        private static boolean isUsual(Method method) {
            return method.getName().equals("main") && Arrays.equals(method.getParameterTypes(), new Class<?>[] { String[].class });
        }

        /** Not public, or without parameters. */
        private static Method unusual(Class<?> type) throws ReflectiveOperationException {
            Method found = null;
            if (type.getSuperclass() != Object.class || type.getInterfaces().length > 0)
                return null;
            for (Method method : type.getDeclaredMethods())
                if (method.getName().equals("main") && !Modifier.isPrivate(method.getModifiers())
                    && (isUsual(method) || method.getParameterCount() == 0 && found == null))
                    found = method;
            if (found != null && !Modifier.isStatic(found.getModifiers())
                && Modifier.isPrivate(type.getDeclaredConstructor().getModifiers()))
                return null;
            return found;
        }

        /**
         * A hidden class in the program's own package that calls main(): it is not in stack traces,
         * and the call initialises the program's class, as with the launcher.
         */
        @SuppressWarnings("unchecked")
        Consumer<Object> caller() throws ReflectiveOperationException, IOException {
            var lookup = (MethodHandles.Lookup) make(MethodHandles.Lookup.class, Class.class, type);
            Class<?> hidden = lookup.defineHiddenClass(code(), true).lookupClass();
            return (Consumer<Object>) hidden.getConstructor().newInstance();
        }

        /**
         * The bytes of this class:
         * public final class PACKAGE.Start implements Consumer {
         *     public void accept(Object o) { TYPE.main((String[]) o); }
         * }
         */
        private byte[] code() throws IOException {
            String name = type.getName().replace('.', '/');
            boolean takes = main.getParameterCount() > 0, fixed = Modifier.isStatic(main.getModifiers());
            var bytes = new ByteArrayOutputStream();
            var out = new DataOutputStream(bytes);
            out.writeInt(0xcafebabe);
            out.writeInt(55);
            out.writeShort(23);
            constant(out, name.substring(0, name.lastIndexOf('/') + 1) + "Start", 0);
            constant(out, "java/lang/Object", 2);
            constant(out, "java/util/function/Consumer", 4);
            constant(out, "<init>", -1);
            constant(out, "()V", -1);
            constant(out, 12, 7, 8);
            constant(out, 10, 4, 9); /* 10: Object's constructor */
            constant(out, "Code", -1);
            constant(out, "accept", -1);
            constant(out, "(Ljava/lang/Object;)V", -1);
            constant(out, "[Ljava/lang/String;", 13);
            constant(out, name, 15);
            constant(out, "main", -1);
            constant(out, takes ? "([Ljava/lang/String;)V" : "()V", -1);
            constant(out, 12, 18, 19);
            constant(out, type.isInterface() ? 11 : 10, 17, 20); /* 21: main */
            constant(out, 10, 17, 9); /* 22: the program's constructor */
            for (int word : new int[] { 0x1031, 2, 4, 1, 6, 0, 2 })
                out.writeShort(word);
            method(out, 7, 8, "2a b7 00 0a b1");
            method(out, 12, 13, (fixed ? "" : "bb 00 11 59 b7 00 16 ") + (takes ? "2b c0 00 0f " : "")
                + (fixed ? "b8" : "b6") + " 00 15 b1");
            out.writeShort(0);
            return bytes.toByteArray();
        }

        /** A text; if `before` numbers precede it, also the class of that name. */
        private static void constant(DataOutputStream out, String text, int before) throws IOException {
            out.writeByte(1);
            out.writeUTF(text);
            if (before >= 0) {
                out.writeByte(7);
                out.writeShort(before + 1);
            }
        }

        private static void constant(DataOutputStream out, int kind, int first, int second) throws IOException {
            out.writeByte(kind);
            out.writeShort(first);
            out.writeShort(second);
        }

        private static void method(DataOutputStream out, int name, int type, String code) throws IOException {
            String[] bytes = code.split(" ");
            for (int word : new int[] { 1, name, type, 1, 11 })
                out.writeShort(word);
            out.writeInt(12 + bytes.length);
            out.writeShort(3);
            out.writeShort(2);
            out.writeInt(bytes.length);
            for (String each : bytes)
                out.writeByte(Integer.parseInt(each, 16));
            out.writeInt(0);
        }
    }

    /* From src/worker/java_zygote.c: what a copy of the zygote is for. */
    private static final int TRIAL = 0;
    private static final int DRAWING = 1;
    private static final int SAMPLE = 2;
    private static final int TRIAL_CODE = 42;

    private static boolean isCopy;
    private static String[] arguments;

    /** Makes copies of this process; returns in each of them. */
    private static native int serve();

    /** Tells the zygote what this copy drew, and the zygote compares it with what another drew. */
    private static native void tellDrawn(long first, long second, long third);

    private static native boolean putEnvironment(byte[] order);

    @Hidden
    public static void main(String[] args) throws Exception {
        isCopy = args.length > 1;
        rehearse();
        Consumer<Object> program = isCopy ? copy(args[0]) : take(args[0]);
        try {
            program.accept(arguments);
        } catch (VirtualMachineError e) {
            throw withoutUs(e);
        }
    }

    /** When memory is short, the JVM includes hidden frames in a stack trace. */
    private static VirtualMachineError withoutUs(VirtualMachineError error) {
        StackTraceElement[] trace = error.getStackTrace();
        int n = trace.length;
        if (n > 1 && trace[n - 1].getClassName().equals(JavaWarm.class.getName()))
            error.setStackTrace(Arrays.copyOf(trace, n - 2));
        return error;
    }

    /** In a copy of the zygote: what calls its program. */
    private static Consumer<Object> copy(String file) throws Exception {
        int role = serve();
        if (role == TRIAL || role == DRAWING)
            tellDrawn(ThreadLocalRandom.current().nextLong(), new Random().nextLong(), UUID.randomUUID().getMostSignificantBits());
        if (role == TRIAL)
            Trial.run();
        if (role == TRIAL || role == DRAWING)
            System.exit(TRIAL_CODE);
        return role == SAMPLE ? caller(Sample.class.getName(), new String[0]) : take(file);
    }

    /** Waits for the order and returns what calls the program. */
    private static Consumer<Object> take(String file) throws ReflectiveOperationException, IOException {
        try (Channel channel = new Channel()) {
            Order order = channel.await();
            if (order == null)
                Runtime.getRuntime().halt(1);
            boolean fits = order.isHere() && order.takeEnvironment();
            Consumer<Object> program = fits ? caller(read(file.substring(1)).strip(), order.after(file)) : null;
            if (program == null)
                channel.refuse();
            return program;
        }
    }

    /** What calls the program; null if only the launcher can. */
    private static Consumer<Object> caller(String name, String[] words) throws ReflectiveOperationException, IOException {
        Start start = words == null ? null : Start.of(name);
        if (start == null)
            return null;
        arguments = words;
        System.setProperty("sun.java.command", words.length > 0 ? name + " " + String.join(" ", words) : name);
        return start.caller();
    }

    private static String read(String path) throws IOException {
        try (var in = new FileInputStream(path)) {
            byte[] bytes = new byte[1 << 16];
            return new String(bytes, 0, Math.max(in.read(bytes), 0), platform());
        } catch (java.io.FileNotFoundException e) {
            return " ";
        }
    }

    private static Charset platform() {
        return Charset.forName(System.getProperty("sun.jnu.encoding"));
    }

    /**
     * Calls a constructor that is not public: for a file descriptor from its number, and for a
     * lookup in the program's classes.
     */
    private static Object make(Class<?> type, Class<?> parameter, Object argument) throws ReflectiveOperationException {
        return ReflectionFactory.getReflectionFactory()
            .newConstructorForSerialization(type, type.getDeclaredConstructor(parameter)).newInstance(argument);
    }

    /**
     * Runs all of the above with a program of ours, and loads the classes that the JVM would load
     * only then.
     */
    private static void rehearse() throws ReflectiveOperationException, IOException {
        make(FileDescriptor.class, int.class, -1);
        var order = new Order("/\0002\0@\0-\0001\0A=B\0".getBytes(platform()));
        order.isHere();
        if (!isCopy)
            order.isAround(); // a copy must not look yet: Java reads its environment once
        read("/proc/self/stat").strip();
        for (String name : List.of("sandboxrun.Missing", "jdk.internal.loader.Resource", "jdk.internal.loader.URLClassPath$FileLoader$1",
                 "java.io.FileCleanable", "sun.nio.ByteBuffered", "java.io.FileInputStream$1", "java.io.FileOutputStream$1",
                 "java.security.BasicPermissionCollection", "java.security.AllPermission", "java.security.UnresolvedPermission",
                 "java.util.IdentityHashMap$IdentityHashMapIterator", "java.util.IdentityHashMap$KeyIterator", "java.lang.Shutdown",
                 "java.lang.Shutdown$Lock"))
            try {
                Class.forName(name, true, ClassLoader.getSystemClassLoader());
            } catch (ClassNotFoundException e) {
                continue;
            }
        caller(Rehearsal.class.getName(), order.after("@")).accept(arguments);
        System.out.print("");
        System.out.flush();
        System.err.print("");
    }

    /** What small programs do, for the pages of memory that they need. */
    public static final class Sample {
        public static void main(String[] args) {
            System.out.println(1);
        }
    }

    /** Everything that needs a thread of the JVM: a copy in which one of them is missing waits here. */
    private static final class Trial {
        private static volatile int sum;

        static void run() throws Exception {
            var late = CompletableFuture.supplyAsync(() -> 42, CompletableFuture.delayedExecutor(1, TimeUnit.MILLISECONDS));
            var thread = new Thread(Trial::compute);
            thread.start();
            compute();
            thread.join();
            System.gc();
            if (late.get() != 42 || read("/proc/self/stat").isBlank())
                throw new IllegalStateException("a copy of this process does not work");
        }

        /** Enough garbage for a collection, and enough turns for both compilers. */
        private static void compute() {
            for (int i = 0; i < 200_000; i++)
                sum += new int[128].length + Integer.toString(i).hashCode();
        }
    }

    /** What most programs do first. */
    public static final class Rehearsal {
        private interface Shape {
            double area();
        }

        private record Item(int count, String name) {}

        private enum Color { RED, GREEN }

        public static void main(String[] args) {
            var out = new PrintStream(OutputStream.nullOutputStream(), true, platform());
            texts(out, args.length - 1);
            collections(out, args.length);
            input(out);
            errors(out);
        }

        private static void texts(PrintStream out, int n) {
            Object object = n;
            Item item = new Item(n, "a");
            out.println("hello " + n + ' ' + 1.5 + " " + 7L + true + object + item);
            out.println(n);
            out.println(1.25);
            out.println('c');
            out.println(object);
            out.printf("%d %5.2f %s %x %-5s|%,d%n", n, 3.14, "s", 255, "ab", 1234567);
            out.println(String.format("%03d", n) + item.equals(new Item(1, "b")) + item.hashCode() + Color.valueOf("RED"));
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 20; i++)
                text.append(i).append(',');
            out.println(text.reverse());
            out.println("a-b".replaceAll("[a-z]", "x") + " abc ".strip().toUpperCase() + "x".repeat(3) + String.join("-", "a", "b"));
            switch (Color.values()[n]) {
            case RED -> out.println(new BigInteger("123456789012345678901234567890").multiply(BigInteger.TEN));
            default -> out.println(object instanceof Integer i && i > 0);
            }
            out.println(System.nanoTime() > 0 && System.currentTimeMillis() > 0);
        }

        private static void collections(PrintStream out, int n) {
            List<Integer> list = new ArrayList<>(List.of(3, 1, 2));
            Map<String, Integer> map = new HashMap<>();
            Collections.sort(list);
            list.sort(Comparator.comparing(x -> -x));
            list.removeIf(x -> x == n);
            for (String word : "to be or not to be".split(" "))
                map.merge(word, 1, Integer::sum);
            map.computeIfAbsent("x", x -> 1);
            new TreeMap<>(map).forEach((key, value) -> out.println(key + "=" + value));
            for (var entry : map.entrySet())
                out.println(entry.getKey() + entry.getValue());
            out.println(list + " " + map + Arrays.toString(new int[] { 1, 2 }) + Set.of(1));
            out.println(list.stream().map(x -> x * 2).filter(x -> x > 1).map(String::valueOf).collect(Collectors.joining(",")));
            out.println(IntStream.rangeClosed(1, 9).mapToObj(x -> "" + x).collect(Collectors.toList()) + "" + IntStream.range(0, 5).sum());
            out.println(Stream.of("a", "bb").collect(Collectors.groupingBy(String::length, Collectors.counting())));
            var deque = new ArrayDeque<Integer>(list);
            deque.push(1);
            var queue = new PriorityQueue<Integer>(Comparator.reverseOrder());
            queue.add(deque.pop());
            Shape shape = () -> 2.0;
            BiFunction<Integer, Integer, Integer> add = (a, b) -> a + b;
            out.println(shape.area() + add.apply(1, queue.poll()) + Optional.of(1).map(x -> x + 1).orElse(0));
        }

        private static void input(PrintStream out) {
            var scanner = new Scanner(new ByteArrayInputStream("12 ab\nline\n".getBytes()));
            out.println(scanner.nextInt() + scanner.next() + scanner.nextLine() + scanner.hasNextLine());
            var reader = new BufferedReader(new InputStreamReader(new ByteArrayInputStream("a\n".getBytes())));
            reader.lines().forEach(out::println);
        }

        private static void errors(PrintStream out) {
            try {
                out.println(Integer.parseInt("x"));
            } catch (IllegalArgumentException e) {
                new IllegalStateException(e).printStackTrace(out);
            }
        }
    }
}
