import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Ends in the way that its argument names. */
public class Ends {
    static int inner(int[] values, int at) {
        return values[at];
    }

    static int outer() {
        return inner(new int[] {1, 2}, 5);
    }

    public static void main(String[] args) {
        switch (args[0]) {
            case "exit" -> {
                System.out.println("leaving");
                System.err.println("complaint");
                System.exit(7);
            }
            case "error" -> {
                System.out.println("before");
                outer();
            }
            case "loop" -> {
                System.out.println("started");
                while (true) {
                    Thread.onSpinWait();
                }
            }
            case "memory" -> {
                System.out.println("started");
                List<byte[]> kept = new ArrayList<>();
                while (true) {
                    byte[] block = new byte[4 << 20];
                    Arrays.fill(block, (byte) 'x');
                    kept.add(block);
                }
            }
            case "flood" -> {
                while (true) {
                    System.out.println("x".repeat(99));
                }
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
    }
}
