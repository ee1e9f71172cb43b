import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Says what it was given: arguments, one variable, stdin line by line. */
public class Echo {
    public static void main(String[] args) throws IOException {
        System.out.print("args: ");
        for (String word : args) {
            System.out.print("[" + word + "]");
        }
        System.out.println();
        String greeting = System.getenv("GREETING");
        System.out.println("GREETING: " + (greeting == null ? "unset" : greeting));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        String line;
        for (int number = 1; (line = input.readLine()) != null; number++) {
            System.out.println(number + ": " + line);
        }
    }
}
