import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** A walk through the class library; every line of its output is known. */
public class Tour {
    sealed interface Shape permits Square, Circle {
        double area();
    }

    record Square(double side) implements Shape {
        public double area() {
            return side * side;
        }
    }

    record Circle(double radius) implements Shape {
        Circle {
            if (radius < 0) {
                throw new IllegalArgumentException("radius " + radius);
            }
        }

        public double area() {
            return Math.PI * radius * radius;
        }
    }

    enum Level {
        LOW(1), HIGH(10) {
            @Override
            String shout() {
                return name() + "!";
            }
        };

        final int weight;

        Level(int weight) {
            this.weight = weight;
        }

        String shout() {
            return name();
        }
    }

    static <T, R extends Comparable<R>> Optional<T> best(Collection<T> all, Function<T, R> by) {
        return all.stream().max(Comparator.comparing(by));
    }

    static class Loud implements AutoCloseable {
        public void close() {
            System.out.println("closed");
        }
    }

    public static void main(String[] args) throws Exception {
        List<String> words = List.of("the quick brown fox jumps over the lazy dog the end".split(" "));
        Map<String, Long> counts = words.stream().collect(
                Collectors.groupingBy(w -> w, TreeMap::new, Collectors.counting()));
        System.out.println(counts);
        System.out.println(words.stream().collect(Collectors.partitioningBy(w -> w.length() > 4)));
        System.out.println(IntStream.rangeClosed(1, 5).mapToObj(Integer::toString).collect(Collectors.joining("-", "<", ">"))
                + " " + Stream.iterate(1L, n -> n * 2).skip(40).findFirst().get());
        Deque<Integer> deque = new ArrayDeque<>(List.of(1, 2, 3));
        deque.addFirst(deque.pollLast());
        PriorityQueue<String> queue = new PriorityQueue<>(Comparator.comparing(String::length).thenComparing(Comparator.reverseOrder()));
        queue.addAll(words);
        System.out.println(deque + " " + queue.poll() + " " + new TreeSet<>(words).ceiling("e"));
        Shape shape = new Square(3);
        if (shape instanceof Square square && square.side() > 2) {
            System.out.println(square + " " + best(List.of(shape, new Circle(1)), Shape::area).get());
        }
        System.out.println(Level.HIGH.shout() + " " + new EnumMap<>(Map.of(Level.LOW, Level.LOW.weight)) + " " + switch (Level.valueOf("LOW")) {
            case LOW -> "low";
            case HIGH -> "high";
        });
        System.out.println(new BigDecimal("0.1").add(new BigDecimal("0.2")) + " " + BigInteger.TWO.pow(100) + " " + Integer.toHexString(-1));
        System.out.printf(Locale.ROOT, "%5.2f|%-6s|%06d|%,d|%b%n", Math.E, "left", 42, 1234567, true);
        LocalDate date = LocalDate.of(2024, 2, 28).plusDays(2);
        System.out.println(date + " " + date.getDayOfWeek() + " " + ChronoUnit.DAYS.between(LocalDate.EPOCH, date) + " " + Duration.ofMinutes(90));
        System.out.println(ZonedDateTime.of(2024, 7, 1, 12, 0, 0, 0, ZoneOffset.UTC).format(DateTimeFormatter.ofPattern("yyyy/MM/dd HH:mm")));
        System.out.println(Pattern.compile("(?<user>\\w+)@(\\w+)").matcher("user@host").replaceAll("$2 at ${user}"));
        byte[] digest = MessageDigest.getInstance("SHA-256").digest("abc".getBytes(StandardCharsets.UTF_8));
        System.out.println(HexFormat.of().formatHex(digest, 0, 8) + " " + Base64.getEncoder().encodeToString("abc".getBytes()));
        System.out.println("""
                text block
                  with "quotes" and %s""".formatted("ü").lines().map(String::strip).toList() + " " + "ab".repeat(2) + " " + "  ".isBlank());

        ExecutorService pool = Executors.newFixedThreadPool(4);
        AtomicLong total = new AtomicLong();
        List<Future<Integer>> futures = new ArrayList<>();
        for (int i = 1; i <= 10; i++) {
            final int n = i;
            futures.add(pool.submit(() -> {
                total.addAndGet(n);
                return n * n;
            }));
        }
        int squares = 0;
        for (Future<Integer> future : futures) {
            squares += future.get();
        }
        pool.shutdown();
        System.out.println(total + " " + squares + " " + pool.awaitTermination(5, TimeUnit.SECONDS));
        System.out.println(CompletableFuture.supplyAsync(() -> 20).thenCombine(CompletableFuture.supplyAsync(() -> 22), Integer::sum).get());
        System.out.println(IntStream.range(0, 1000).parallel().filter(n -> n % 7 == 0).sum());
        UnaryOperator<String> twice = s -> s + s;
        System.out.println(twice.andThen(String::toUpperCase).apply("ab"));
        try (Loud loud = new Loud()) {
            new Circle(-1);
        } catch (IllegalArgumentException error) {
            System.out.println(error.getMessage());
        }
        Process child = new ProcessBuilder("echo", "child").start();
        System.out.print(new String(child.getInputStream().readAllBytes()));
        System.out.println(child.waitFor() + " " + Objects.hash(1, 2, 3) + " " + "hello".hashCode());
        int[] numbers = {5, 3, 9};
        Arrays.sort(numbers);
        System.out.println(Arrays.toString(numbers) + " " + Arrays.binarySearch(numbers, 9) + " " + Collections.frequency(words, "the"));
    }
}
