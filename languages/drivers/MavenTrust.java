package sandboxrun;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;

/** MavenTrust PEM STORE: writes a store of the certificates, as the JVM reads it. */
public final class MavenTrust {
    private MavenTrust() {
    }

    public static void main(String[] args) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        char[] password = "public".toCharArray();
        int n = 0;
        store.load(null, password);
        try (InputStream in = Files.newInputStream(Path.of(args[0]))) {
            for (Certificate one : CertificateFactory.getInstance("X.509").generateCertificates(in))
                store.setCertificateEntry("certificate-" + n++, one);
        }
        try (OutputStream out = Files.newOutputStream(Path.of(args[1]))) {
            store.store(out, password);
        }
    }
}
