import java.nio.file.Files;
import java.nio.file.Path;

public class Main {
    public static void main(String[] args) throws Exception {
        System.out.println(Part.join(Files.readString(Path.of("words.txt")).trim().split(" ")));
    }
}
