import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;

/** Tries to read the files that it is given, then to connect to the port that comes last. */
public class Host {
    public static void main(String[] args) {
        int last = args.length - 1;
        for (int i = 0; i < last; i++) {
            try {
                System.out.println("read " + Files.readAllBytes(Path.of(args[i])).length);
            } catch (IOException error) {
                System.out.println("refused");
            }
        }
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[last])), 5000);
            System.out.println("connected");
        } catch (IOException error) {
            System.out.println("no connection");
        }
    }
}
