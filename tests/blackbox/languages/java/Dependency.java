import com.google.gson.Gson;
import java.util.List;
import java.util.Map;

public class Dependency {
    public static void main(String[] args) {
        System.out.println(new Gson().toJson(Map.of("points", List.of(1, 2))));
        System.out.println(new Gson().fromJson("[3,4]", int[].class).length);
    }
}
