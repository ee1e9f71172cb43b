import com.sun.source.util.JavacTask;
import com.sun.source.util.TaskEvent;
import com.sun.source.util.TaskListener;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.TypeKind;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Calls javac in this process for files of any name, and finds the class to start.
 *
 * --main=FILE [--out=DIRECTORY] [--deps=DIRECTORY] [--project=DIRECTORY] [--check]
 *     FILE... -- OPTION...
 *
 * Leaves the classes in DIRECTORY, and DIRECTORY/.main, which `java @DIRECTORY/.main` reads; no
 * package has that name.
 */
public final class JavaBuild {
    /** Makes a compiler task and passes it to `use`. */
    interface Compiler {
        int with(Writer messages, List<String> options, List<JavaFileObject> files, ToIntFunction<JavacTask> use);
    }

    /** Accepts a public class in a file of any name, because code of a request has no file name. */
    private static final class Source extends SimpleJavaFileObject {
        private final Path path;

        Source(Path path) {
            super(path.toUri(), Kind.SOURCE);
            this.path = path;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) throws IOException {
            return Files.readString(path);
        }

        @Override
        public boolean isNameCompatible(String simpleName, Kind kind) {
            boolean special = simpleName.endsWith("-info");
            return special ? super.isNameCompatible(simpleName, kind) : kind == Kind.SOURCE;
        }
    }

    /** All top-level classes that can be started, with their files. */
    private static final class Starters implements TaskListener {
        final Map<String, Path> found = new LinkedHashMap<>();
        private final JavacTask task;
        private final boolean instances;

        Starters(JavacTask task, boolean instances) {
            this.task = task;
            this.instances = instances;
        }

        @Override
        public void finished(TaskEvent event) {
            TypeElement type = event.getTypeElement();
            if (event.getKind() != TaskEvent.Kind.ANALYZE || type == null)
                return;
            for (Element member : task.getElements().getAllMembers(type))
                if (member.getKind() == ElementKind.METHOD && starts((ExecutableElement) member))
                    found.put(type.getQualifiedName().toString(), Path.of(event.getSourceFile().getName()));
        }

        private boolean starts(ExecutableElement method) {
            if (!method.getSimpleName().contentEquals("main") || method.getReturnType().getKind() != TypeKind.VOID)
                return false;
            var modifiers = method.getModifiers();
            var parameters = method.getParameters();
            boolean usual = modifiers.contains(Modifier.PUBLIC) && modifiers.contains(Modifier.STATIC);
            if (parameters.isEmpty())
                return instances && !modifiers.contains(Modifier.PRIVATE);
            return parameters.size() == 1 && parameters.get(0).asType().toString().contains("String[]")
                && (usual || instances && !modifiers.contains(Modifier.PRIVATE));
        }
    }

    private final Map<String, String> settings = new LinkedHashMap<>();
    private final List<Path> sources = new ArrayList<>();
    private final List<String> options = new ArrayList<>();

    JavaBuild(String[] args) {
        int rest = 0;
        for (; rest < args.length && !args[rest].equals("--"); rest++) {
            String[] parts = args[rest].split("=", 2);
            if (args[rest].startsWith("--"))
                settings.put(parts[0], parts.length > 1 ? parts[1] : "");
            else
                sources.add(Path.of(args[rest]).toAbsolutePath());
        }
        String scratch = System.getenv().getOrDefault("TMPDIR", "/tmp");
        settings.putIfAbsent("--out", scratch + "/check");
        String classes = settings.get("--out");
        options.addAll(List.of("-d", classes, "-encoding", "UTF-8", "-cp", classpath(classes)));
        /* Only libraries have annotation processors; searching for them takes time. */
        if (!settings.containsKey("--deps"))
            options.add("-proc:none");
        if (settings.containsKey("--project"))
            options.addAll(List.of("-sourcepath", sourcepath(), "-implicit:class"));
        options.addAll(Arrays.asList(args).subList(Math.min(rest + 1, args.length), args.length));
    }

    List<String> options() {
        return options;
    }

    private String classpath(String classes) {
        if (!settings.containsKey("--deps"))
            return classes;
        try (Stream<Path> files = Files.list(Path.of(settings.get("--deps")))) {
            return classes + files.map(Path::toString).filter(name -> name.endsWith(".jar")).sorted()
                .map(name -> ":" + name).collect(Collectors.joining());
        } catch (IOException e) {
            return classes;
        }
    }

    /**
     * Where a project's classes are: above the program's package, in its directory, and in the
     * usual directories.
     */
    private String sourcepath() {
        Path project = Path.of(settings.get("--project")), main = Path.of(settings.get("--main")), top = main.getParent();
        String[] parts = packageOf(main).split("\\.");
        for (int i = parts.length - 1; i >= 0 && top.endsWith(parts[i]) && !top.equals(project); i--)
            top = top.getParent();
        return Stream.of(top, main.getParent(), project, project.resolve("src/main/java"), project.resolve("src"))
            .filter(Files::isDirectory).distinct().map(Path::toString).collect(Collectors.joining(":"));
    }

    private static String packageOf(Path file) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.map(String::trim).filter(line -> line.startsWith("package ")).findFirst()
                .map(line -> line.substring(8).replaceFirst(";.*", "").trim()).orElse("");
        } catch (IOException | UncheckedIOException e) {
            return "";
        }
    }

    static int compile(Writer messages, List<String> options, List<JavaFileObject> files, ToIntFunction<JavacTask> use) {
        var compiler = ToolProvider.getSystemJavaCompiler();
        return use.applyAsInt((JavacTask) compiler.getTask(messages, null, null, options, null, files));
    }

    /** `messages` may be null: stderr. */
    int build(Writer messages, Compiler compiler) throws IOException {
        List<JavaFileObject> files = new ArrayList<>();

        Files.createDirectories(Path.of(settings.get("--out")));
        for (Path source : sources)
            files.add(new Source(source));
        try {
            return compiler.with(messages, options, files, this::use);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private int use(JavacTask task) {
        boolean preview = options.contains("--enable-preview");
        var starters = new Starters(task, preview || Runtime.version().feature() >= 25);
        task.addTaskListener(starters);
        if (!task.call())
            return 1;
        if (settings.containsKey("--check"))
            return 0;
        String main = choose(starters.found);
        if (main == null)
            return 1;
        try {
            Files.writeString(Path.of(settings.get("--out"), ".main"), (preview ? "--enable-preview " : "") + main + "\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return 0;
    }

    /**
     * The class of the main file with the file's name, else the first one there, else the only one.
     */
    private String choose(Map<String, Path> found) {
        Path file = Path.of(settings.get("--main")).toAbsolutePath();
        String stem = file.getFileName().toString().replaceFirst("\\.java$", "");
        List<String> here = found.keySet().stream().filter(name -> found.get(name).equals(file))
            .collect(Collectors.toList());
        for (String name : here)
            if (name.substring(name.lastIndexOf('.') + 1).equals(stem))
                return name;
        if (!here.isEmpty())
            return here.get(0);
        if (found.size() == 1)
            return found.keySet().iterator().next();
        if (found.isEmpty())
            System.err.println(file + ": error: no class has a main method: public static void main(String[] args)");
        else
            System.err.println(file + ": error: several classes have a main method, and none of them is in this file: "
                + String.join(", ", found.keySet()));
        return null;
    }

    public static void main(String[] args) throws IOException {
        System.exit(new JavaBuild(args).build(null, JavaBuild::compile));
    }
}
