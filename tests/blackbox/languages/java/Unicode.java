import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Scanner;

public class Unicode {
    public static void main(String[] args) {
        Map<String, String> grüße = new LinkedHashMap<>();
        grüße.put("日本", "Nihon");
        grüße.put("🦀", "Krebs");
        grüße.put("e\u0301", "combining");
        grüße.forEach((wort, sinn) -> System.out.println(wort + " " + wort.codePointCount(0, wort.length()) + " " + sinn));
        String zeile = new Scanner(System.in).nextLine();
        System.out.println(new StringBuilder(zeile).reverse() + " " + "ß".toUpperCase());
    }
}
