import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/** Writes, appends, reads, renames, lists and removes in the work directory. */
public class FileIo {
    private static List<String> list(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    public static void main(String[] args) throws IOException {
        Path notes = Files.createDirectory(Path.of("notes"));
        Path one = Files.writeString(notes.resolve("one.txt"), "alpha\nbeta\n");
        Files.writeString(one, "gamma\n", StandardOpenOption.APPEND);
        List<String> lines = Files.readAllLines(one);
        System.out.println(lines.size() + " " + String.join(",", lines));

        byte[] bytes = new byte[256];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        Path raw = Files.write(Path.of("raw.bin"), bytes);
        int sum = 0;
        for (byte value : Files.readAllBytes(raw)) {
            sum += Byte.toUnsignedInt(value);
        }
        System.out.println(Files.size(raw) + " " + sum);

        Path two = Files.move(one, notes.resolve("two.txt"));
        System.out.println(String.join(" ", list(notes)));
        Files.delete(two);
        System.out.println(list(notes).size());

        Path scratch = Files.createTempFile("x-", "");
        System.out.println(Files.readString(Files.writeString(scratch, "scratch")));
    }
}
