import com.sun.source.util.JavacTask;
import com.sun.source.util.TaskEvent;
import com.sun.source.util.TaskListener;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.element.Element;
import javax.lang.model.element.ElementKind;
import javax.lang.model.element.ExecutableElement;
import javax.lang.model.element.Modifier;
import javax.lang.model.element.TypeElement;
import javax.lang.model.type.TypeKind;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Calls javac in this process, whatever the files are called, and finds the class to start.
 *
 * --main=FILE [--out=DIRECTORY] [--deps=DIRECTORY] [--project=DIRECTORY] [--check] FILE... -- OPTION...
 *
 * Leaves DIRECTORY/classes, and DIRECTORY/main, which `java @DIRECTORY/main` reads.
 */
public final class JavaBuild {
    /** A public class may be in a file of any name: a program from a request has no better one. */
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

    /** Every class at the top of a file that can be started, with its file. */
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

    private JavaBuild(String[] args) {
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
        String classes = settings.get("--out") + "/classes";
        options.addAll(List.of("-d", classes, "-encoding", "UTF-8", "-cp", classpath(classes)));
        /* Only libraries bring processors of annotations; looking for them takes time. */
        if (!settings.containsKey("--deps"))
            options.add("-proc:none");
        if (settings.containsKey("--project"))
            options.addAll(List.of("-sourcepath", sourcepath(), "-implicit:class"));
        options.addAll(Arrays.asList(args).subList(Math.min(rest + 1, args.length), args.length));
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

    /** Where the classes of a project are: above the program's package, beside the program, and in the usual places. */
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
        } catch (IOException | java.io.UncheckedIOException e) {
            return "";
        }
    }

    private int build(Writer messages) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Path out = Path.of(settings.get("--out"));
        List<JavaFileObject> files = new ArrayList<>();

        Files.createDirectories(out.resolve("classes"));
        for (Path source : sources)
            files.add(new Source(source));
        boolean preview = options.contains("--enable-preview");
        var task = (JavacTask) compiler.getTask(messages, null, null, options, null, files);
        var starters = new Starters(task, preview || Runtime.version().feature() >= 25);
        task.addTaskListener(starters);
        if (!task.call())
            return 1;
        if (settings.containsKey("--check"))
            return 0;
        String main = choose(starters.found);
        if (main == null)
            return 1;
        Files.writeString(out.resolve("main"), (preview ? "--enable-preview " : "") + main + "\n");
        return 0;
    }

    /** The class of the main file that is called like it, else the first one there, else the only one. */
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
        if (args.length > 0 && args[0].equals("--train"))
            train(Arrays.copyOfRange(args, 1, args.length));
        else
            System.exit(new JavaBuild(args).build(null));
    }

    /** For the class-data archive: a program that compiles, and one with the errors that people make. */
    private static void train(String[] args) throws IOException {
        Path wrong = Path.of(args[0]);
        String[] rest = Arrays.copyOfRange(args, 1, args.length);
        String[] again = { rest[0], rest[1], wrong.toString() };
        Files.writeString(wrong, "import no.such.Thing; class A { int f() { return x + \"\"; } void g() { String s = 1 } }");
        new JavaBuild(again).build(Writer.nullWriter());
        Files.writeString(wrong, "import no.such.Thing; class A { int f() { return x + \"\"; } void g() { f(1); new B(); } }");
        new JavaBuild(again).build(new PrintWriter(Writer.nullWriter()));
        System.exit(new JavaBuild(rest).build(null));
    }
}
