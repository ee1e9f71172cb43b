# session-magics.py: what people type at IPython's prompt, for a Python kernel without IPython: `!command`, `%name`,
# `%%name`, `name?`.  The kernel loads it for the first cell that is no Python and looks like one of these.
import builtins
import inspect
import os
import pydoc
import re
import subprocess
import sys
import time

LINES = (
    (re.compile(r"^(\s*)(\w+)\s*=\s*!(.+)$"), lambda m: f"{m[1]}{m[2]} = __magic__('sx', {m[3]!r})"),
    (re.compile(r"^(\s*)!(.+)$"), lambda m: f"{m[1]}__magic__('system', {m[2]!r})"),
    (re.compile(r"^(\s*)(?:(\w+)\s*=\s*)?%(\w+)[ \t]*(.*)$"),
     lambda m: f"{m[1]}{m[2] + ' = ' if m[2] else ''}__magic__({m[3]!r}, {m[4]!r})"),
    (re.compile(r"^(\s*)\?{1,2}\s*([\w.\[\]'\"]+)\s*$"), lambda m: f"{m[1]}__magic__('pinfo', {m[2]!r})"),
    (re.compile(r"^(\s*)([\w.\[\]'\"]+)(\?{1,2})\s*$"), lambda m: f"{m[1]}__magic__('pinfo', {m[2] + m[3]!r})"),
)
WHOLE = re.compile(r"^\s*%%(\w+)[ \t]*(.*)\n?([\s\S]*)$")


def translate(code):
    """Python in place of the lines that are none."""
    whole = WHOLE.match(code)
    if whole:
        return f"__magic__({whole[1]!r}, {whole[2]!r}, {whole[3]!r})"
    lines = code.split("\n")
    for number, line in enumerate(lines):
        for pattern, write in LINES:
            match = pattern.match(line)
            if match:
                lines[number] = write(match)
                break
    return "\n".join(lines)


class Magics:
    def __init__(self, shell):
        self.shell, self.names = shell, shell.names
        builtins.__magic__ = self.call

    def call(self, name, words, body=None):
        method = getattr(self, ("cell_" if body is not None else "do_") + name, None)
        if method:
            return method(words) if body is None else method(words, body)
        what = "%%" if body is not None else "%"
        raise SyntaxError(f"there is no {what}{name} here; %lsmagic lists what there is, and `:dep ipython` adds IPython's "
                          "for a new session")

    def do_lsmagic(self, _words):
        """lists these"""
        for name in sorted(dir(self)):
            kind, _, rest = name.partition("_")
            if kind in ("do", "cell") and rest not in ("system", "sx", "pinfo"):
                print(f"{'%' if kind == 'do' else '%%'}{rest:<10} {getattr(self, name).__doc__}")
        print("!command     runs a command; x = !command keeps its lines")
        print("name?        says what a name is; name?? with its source")

    def do_system(self, words):
        """runs a command"""
        self.shell.streams.flush()
        status = subprocess.run(["/bin/sh", "-c", self.expand(words)]).returncode
        self.names["_exit_code"] = status

    def do_sx(self, words):
        """the lines that a command prints"""
        return subprocess.run(["/bin/sh", "-c", self.expand(words)], stdout=subprocess.PIPE).stdout.decode(
            "utf-8", "replace").splitlines()

    def expand(self, words):
        """{expression} and $name of the cells; the shell has what is left."""
        def value(match):
            try:
                return str(eval(match[1] or match[2], self.names))
            except Exception:
                return match[0]
        return re.sub(r"\{([^{}]+)\}|\$(\w+)", value, words)

    def do_pinfo(self, words):
        """says what a name is"""
        name, source = words.rstrip("?"), words.endswith("??")
        try:
            value = eval(name, self.names)
        except Exception:
            print(f"there is no {name!r}")
            return
        rows = [("Type", type(value).__name__)]
        if callable(value):
            try:
                rows.insert(0, ("Signature", name.rpartition(".")[2] + str(inspect.signature(value))))
            except (TypeError, ValueError):
                pass
        else:
            text = repr(value)
            rows.append(("Value", text if len(text) <= 400 else text[:397] + "..."))
            if hasattr(value, "__len__"):
                rows.append(("Length", str(len(value))))
        file = getattr(getattr(value, "__code__", None), "co_filename", None) or getattr(value, "__file__", None)
        if file:
            rows.append(("File", file))
        for key, text in rows:
            print(f"{key + ':':<11}{text}")
        try:
            text = inspect.getsource(value) if source else None
        except (OSError, TypeError):
            text = None
        print(("Source:\n" + text.rstrip()) if text else "Docstring:\n" + (pydoc.getdoc(value) or "(none)"))

    def do_pwd(self, _words):
        """the directory"""
        return os.getcwd()

    def do_cd(self, words):
        """goes to a directory; alone: to /work"""
        os.chdir(os.path.expanduser(words.strip() or "/work"))
        print(os.getcwd())

    def do_ls(self, words):
        """lists files"""
        self.do_system("ls " + words)

    def do_env(self, words):
        """the environment, or one variable; NAME=VALUE sets it"""
        name, sign, value = words.strip().partition("=")
        if sign:
            os.environ[name] = value
            return None
        return os.environ.get(name) if name else dict(os.environ)

    def do_who(self, _words):
        """the names of the cells"""
        print(*(entry["name"] for entry in self.shell.variables()["vars"]), sep="\t")

    def do_whos(self, _words):
        """names, types and values"""
        for entry in self.shell.variables()["vars"]:
            print(f"{entry['name']:<16}{entry['type']:<16}{entry['value']}")

    def do_run(self, words):
        """runs a file with the names of the cells"""
        with open(words.strip(), "rb") as file:
            exec(compile(file.read(), words.strip(), "exec"), self.names)

    def do_reset(self, _words):
        """forgets all names"""
        for entry in self.shell.variables()["vars"]:
            del self.names[entry["name"]]

    def do_time(self, words):
        """how long a statement takes"""
        return self.cell_time(words, "")

    def cell_time(self, words, body):
        """how long the cell takes"""
        code, last = self.shell.compile("\n".join(part for part in (words, body) if part), self.name())
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            self.shell.evaluate(code)
            return self.shell.evaluate(last) if last is not None else None
        finally:
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"CPU time: {self.amount(cpu)}, wall time: {self.amount(wall)}")

    def do_timeit(self, words):
        """the best of several times of a statement; -n LOOPS -r REPEATS"""
        self.measure(words, "pass")

    def cell_timeit(self, words, body):
        """the same of a cell; the line behind it is the setup"""
        self.measure(re.match(r"(?:-[nr]\s*\d+\s*)*", words)[0] + body, words.partition("-r")[0] or "pass")

    def measure(self, words, setup):
        import timeit
        options = dict(re.findall(r"-([nr])\s*(\d+)", re.match(r"(?:\s*-[nr]\s*\d+)*", words)[0]))
        code = re.sub(r"^(?:\s*-[nr]\s*\d+)*\s*", "", words)
        timer = timeit.Timer(code, setup if setup.strip("- nr0123456789") else "pass", globals=self.names)
        loops = int(options.get("n", 0)) or timer.autorange()[0]
        repeats = int(options.get("r", 5))
        times = sorted(taken / loops for taken in timer.repeat(repeats, loops))
        mean = sum(times) / repeats
        spread = (sum((taken - mean) ** 2 for taken in times) / repeats) ** 0.5
        print(f"{self.amount(mean)} ± {self.amount(spread)} per loop (best {self.amount(times[0])}, {repeats} runs of "
              f"{loops} loop{'s' * (loops != 1)} each)")

    def cell_bash(self, _words, body):
        """the cell is a program of bash"""
        self.shell.streams.flush()
        subprocess.run(["/bin/bash", "-c", body])

    def cell_writefile(self, words, body):
        """writes the cell to a file"""
        with open(words.strip(), "w", encoding="utf-8") as file:
            file.write(body if body.endswith("\n") else body + "\n")
        print(f"written to {words.strip()}")

    def name(self):
        return "cell-%d" % self.shell.cell

    @staticmethod
    def amount(seconds):
        for least, unit, factor in ((1, "s", 1), (1e-3, "ms", 1e3), (1e-6, "µs", 1e6), (0, "ns", 1e9)):
            if seconds >= least:
                return f"{seconds * factor:.3g} {unit}"
        return "0 ns"
