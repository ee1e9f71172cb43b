"""Java in JVMs that were started before their program was known: every byte is that of a run of its own."""
import itertools
import pathlib

import pytest

import engine as engines
import yaml_text

pytestmark = pytest.mark.group("java", weight=8)  # they take long: others begin beside them

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs" / "java.yaml"
COMPARED = ("outcome", "exit_code", "signal", "stdout", "stderr", "explanation", "diagnosis")
BODY = "public class Main {\n    public static void main(String[] args) throws Exception {\n%s    }\n}\n"
SLOWLY = 600  # seconds: the first run prepares the compiler
HALVES = (), pytest.mark.group("java, the other half", weight=8)  # of the programs, each with an engine of its own
TABLE = yaml_text.load(PROGRAMS.read_text())
TOGETHER = {"name": "together", "body": ",".join(case["name"] for case in TABLE if "together" in case)}
ALONE = [case for case in TABLE if "together" not in case]
CASES = [pytest.param(case, id=case["name"], marks=HALVES[number % 2]) for number, case in enumerate([TOGETHER, *ALONE])]
SERVE = ["--park-min", "1"]  # a JVM takes seconds to make, and each kind of run is used once or twice
numbers = itertools.count()


def of_all_bodies():
    """One program for all that are only a body: the first word names those that run.  They are compiled once."""
    bodies = {case["name"]: case["body"] for case in TABLE if "body" in case}
    calls = "".join(f"case \"{name}\": body{n}(rest); break;\n" for n, name in enumerate(bodies))
    main = "String[] names = args[0].split(\",\"), rest = java.util.Arrays.copyOfRange(args, 1, args.length);\n" \
           "for (String name : names) {\nif (names.length > 1) System.out.println(\"== \" + name);\n" \
           f"switch (name) {{\n{calls}}}\n}}\n"
    texts = [f"}}\nstatic void body{n}(String[] args) throws Exception {{\n{text}" for n, text in enumerate(bodies.values())]
    return BODY % (main + "".join(texts))


def words_of(case, folder):
    """The program and its options, as on a command line."""
    words = ["--lang", "java"]
    for variable in case.get("env", []):
        words += ["--env", variable]
    for name, text in case.get("files", {}).items():
        (folder / name).write_text(text)
    words += [folder] if "files" in case else ["--code", case.get("code") or of_all_bodies()]
    chosen = TOGETHER["body"] if case is TOGETHER else case["name"]
    return [*words, "--", *([chosen] if "body" in case else []), *case.get("args", [])]


def compared(result):
    """With what the compiler said, but without what was in the cache."""
    said = [stage["stderr"] for stage in result.get("stages", []) if stage["name"] == "compile" and not stage["success"]]
    return {**{name: result.get(name) for name in COMPARED}, "compiler": said}


@pytest.fixture
def folder(place):
    """A directory of the test's own that the caller may read."""
    path = place / f"java{next(numbers)}"
    path.mkdir(mode=0o755)
    return path


def new_program(word):
    """That nobody has compiled before."""
    return BODY % f'System.out.println("{word} {next(numbers)}");\n'


def startups(result):
    return {stage["name"]: stage["startup"] for stage in result["stages"]}


@pytest.mark.table
@pytest.mark.parametrize("case", CASES)
def test_a_program_does_the_same(engine, folder, case):
    words = words_of(case, folder)
    stdin = (case.get("stdin", "") * case.get("times", 1)).encode()
    # The warm run has the classes of the cold one: what a compiler that waited makes is seen below.
    cold = engine.result_of("run", "--cold", *words, stdin=stdin, timeout=SLOWLY)
    warm = engine.parked(lambda: engine.result_of("run", *words, stdin=stdin, timeout=SLOWLY))
    assert compared(warm) == compared(cold)
    assert case is not TOGETHER or (warm["exit_code"], warm["stdout"].count("== ")) == (0, TOGETHER["body"].count(",") + 1)


def test_a_new_program_is_compiled_by_one_that_waited(engine):
    def both_waited():
        nonlocal result
        result = engine.code("java", new_program(engine.caller), timeout=SLOWLY)
        return result if startups(result).get("compile") == "parked" else {}

    result = {}
    assert engine.parked(both_waited)["stdout"] == result["stdout"]
    assert result["stdout"].startswith(engine.caller)


def test_classes_are_the_same(engine, folder):
    """What a compiler that has compiled before leaves is what a new one leaves."""
    text = """
        for (String name : new String[] { "Main.class", "Main$Item.class", ".main" })
            System.out.println(java.util.Base64.getEncoder().encodeToString(Main.class.getResourceAsStream("/" + name).readAllBytes()));
    }
    record Item(int n) {}
    static void unused() {
    """
    cold = engine.code("java", BODY % (text + f"// {next(numbers)}\n"), "--cold", timeout=SLOWLY)
    warm = engine.parked(lambda: engine.code("java", BODY % (text + f"// {next(numbers)}\n"), timeout=SLOWLY))
    assert warm["stdout"] == cold["stdout"] and len(warm["stdout"].split()) == 3


def test_options_of_the_compiler_count(engine):
    code = BODY % "new Integer(1);\n"
    words = ["--lang", "java", "--compile-arg=-Xlint:all", "--compile-arg=-Werror", "--code", code]
    cold = engine.result_of("run", "--cold", *words, timeout=SLOWLY)
    warm = engine.parked(lambda: engine.result_of("run", *words, timeout=SLOWLY))
    assert compared(warm) == compared(cold) and "removal" in str(compared(warm))


def test_a_preview_of_java_is_left_to_a_jvm_of_its_own(engine):
    """Whether it has one is up to the JVM's start."""
    code = BODY % 'System.out.println(ManagementFactory.getRuntimeMXBean().getInputArguments().contains("--enable-preview"));\n'
    code = "import java.lang.management.ManagementFactory;\n" + code
    version = engine.code("java", BODY % "System.out.println(Runtime.version().feature());\n", timeout=SLOWLY)["stdout"].strip()
    words = ["--lang", "java", "--compile-arg=--enable-preview", "--compile-arg=--release", f"--compile-arg={version}", "--code", code]
    cold = engine.result_of("run", "--cold", *words, timeout=SLOWLY)
    warm = engine.parked(lambda: engine.result_of("run", *words, timeout=SLOWLY))
    assert compared(warm) == compared(cold) and warm["stdout"] == "true\n"


DRAWS = """
    var random = new java.security.SecureRandom();
    System.out.println(Math.random() + " " + java.util.UUID.randomUUID() + " " + new java.util.Random().nextLong());
    System.out.println(java.util.concurrent.ThreadLocalRandom.current().nextLong() + " " + random.nextLong());
    System.out.println(new java.util.SplittableRandom().nextLong());
"""


def test_every_run_has_its_own_randomness(engine):
    code = BODY % DRAWS
    seen = [word for _ in range(4) for word in engine.parked(lambda: engine.code("java", code, timeout=SLOWLY))["stdout"].split()]
    assert len(seen) == 4 * 6 and len(set(seen)) == len(seen)


IS_COPY = BODY % ('System.out.println(java.nio.file.Files.readString(java.nio.file.Path.of("/proc/self/cmdline"))'
                  '.endsWith("\\0zygote\\0"));\n')


def test_a_jvm_that_cannot_be_copied_waits_in_each_sandbox(engine, place):
    """The old way, which an unknown JVM takes by itself."""
    def java(where, code, *options, **kwargs):
        return where.parked(lambda: where.code("java", code, *options, timeout=SLOWLY, **kwargs))

    assert java(engine, IS_COPY)["stdout"] == "true\n"
    env = {"SANDBOX_RUN_TEST_WITHOUT": "blueprint-check,forked-java"}
    with engines.Engine(place / f"plain-java-{engine.caller}", engine.caller, ["--warm", "", *SERVE], hooks=True, env=env) as plain:
        assert java(plain, IS_COPY, env=env)["stdout"] == "false\n"
        variables = BODY % 'System.out.println(System.getenv("WORD") + args.length);\n'
        for options in ([], ["--env", "WORD=given"]):
            warm = java(plain, variables, *options, env=env)
            assert compared(warm) == compared(engine.code("java", variables, "--cold", *options, timeout=SLOWLY))


def test_a_copy_reads_files_of_the_jvm_on_its_own(engine):
    """What is open is only read, and no socket is among it."""
    code = BODY % """
        for (var file : new java.io.File("/proc/self/fdinfo").listFiles()) {
            int fd = Integer.parseInt(file.getName());
            String flags = "";
            try { flags = java.nio.file.Files.readString(file.toPath()).split("flags:\\\\s*")[1].split("\\\\s")[0]; } catch (java.io.IOException e) { }
            if (fd > 2 && !flags.isEmpty() && (Integer.parseInt(flags, 8) & 3) != 0) System.out.println(fd + " " + flags);
        }
    """
    result = engine.parked(lambda: engine.code("java", code, timeout=SLOWLY))
    assert (result["outcome"], result["stdout"]) == ("exited", ""), result


def test_warming_up_is_not_the_programs_time(engine):
    def used(*words):
        result = engine.code("java", BODY % "System.out.println(1);\n", *words, timeout=SLOWLY)
        return {**result, "cpu_ms": result["metrics"]["cpu_user_ms"] + result["metrics"]["cpu_system_ms"]}

    warm, cold = engine.parked(used), used("--cold")
    assert warm["cpu_ms"] < cold["cpu_ms"], (warm["metrics"], cold["metrics"])


def test_little_memory_is_the_heaps_limit(engine):
    code = BODY % "System.out.println(Runtime.getRuntime().maxMemory() >> 20);\n"
    for memory in ("128m", "256m"):
        words = ["--lang", "java", "--memory", memory, "--code", code]
        cold = engine.result_of("run", "--cold", *words, timeout=SLOWLY)
        warm = engine.parked(lambda words=words: engine.result_of("run", *words, timeout=SLOWLY))
        assert compared(warm) == compared(cold)


def test_no_memory_of_a_waiting_jvm_is_shared(engine):
    """The kernel says `sh` of a shared mapping that may be written to."""
    code = BODY % ('for (var line : java.nio.file.Files.readAllLines(java.nio.file.Path.of("/proc/self/smaps")))\n'
                   '    if (line.startsWith("VmFlags") && line.contains(" sh ")) System.out.println(line);\n')
    result = engine.parked(lambda: engine.code("java", code), SLOWLY)
    assert (result["outcome"], result["stdout"]) == ("exited", ""), result
