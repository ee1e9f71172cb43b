"""What the lists of a project name: its packages, those for its tests, and what builds it.  Nothing of the
project is executed: lists are read, and of setup.py the values that stand there as such."""
import ast
import configparser
import fnmatch
import glob
import os
import re

TESTS = {"test", "tests", "testing", "test-deps", "tests-deps", "test-requirements", "unittest", "pytest", "hatch-test",
         "unit", "check", "testsuite", "test-core", "core-tests"}
DEVELOPMENT = {"dev", "develop", "development", "dev-dependencies", "devel", "all"}
# Options of pytest that a package brings.
PLUGINS = (("--cov", "pytest-cov"), ("asyncio_mode", "pytest-asyncio"), ("--timeout", "pytest-timeout"), ("-n auto", "pytest-xdist"),
           ("--numprocesses", "pytest-xdist"), ("--benchmark", "pytest-benchmark"), ("--mypy", "pytest-mypy"), ("--flake8", "pytest-flake8"),
           ("--randomly", "pytest-randomly"), ("--doctest-plus", "pytest-doctestplus"), ("--black", "pytest-black"),
           ("--isort", "pytest-isort"), ("--mpl", "pytest-mpl"), ("timeout =", "pytest-timeout"))

# Lists of requirements: `sources` of python.yaml has the same patterns.  What lies elsewhere is not read: it is in no
# layer's key, so that a copy of a project with other packages in it would be taken for the original.
LISTS = ("*req*.txt", "*req*.in", "*deps*.txt", "*deps*.in", "*constraint*.txt", "./dev*.txt", "./test*.txt", "./base*.txt",
         "./common*.txt", "requirements/*", "requirements/*/*", "*/requirements/*", "reqs/*", "deps/*")

# Nor are these directories, which hold what builds and package managers leave.
RESULTS = {"node_modules", "target", "build", "dist", "site-packages", "__pycache__", "venv"}


def is_list(path):
    def fits(pattern):
        name = path if "/" in pattern else os.path.basename(path)
        pattern = pattern[2:] if pattern.startswith("./") else pattern
        return pattern.count("/") == name.count("/") and fnmatch.fnmatchcase(name, pattern)
    within = path.split("/")[:-1]
    return any(map(fits, LISTS)) and not any(one.startswith(".") or one in RESULTS for one in within)


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def texts(value):
    if isinstance(value, str):
        return [line.split("#")[0].strip() for line in value.splitlines() if line.split("#")[0].strip()]
    return [one for one in value or [] if isinstance(one, str)] if isinstance(value, (list, tuple, set)) else []


def poetry(table):
    """Poetry's and Pipenv's tables of versions."""
    for name, version in (table or {}).items():
        if plain(name) == "python":
            continue
        extras, marker = "", ""
        if isinstance(version, list):
            version = version[0] if version else "*"
        if isinstance(version, dict):
            if version.get("optional") or any(key in version for key in ("path", "git", "url", "file")):
                continue
            extras = "[%s]" % ",".join(version.get("extras", [])) if version.get("extras") else ""
            marker = version.get("markers", "")
            if version.get("python") not in (None, "*"):
                marker = " and ".join("python_version %s" % re.sub(r"([<>=!]+)\s*(.+)", r"\1 '\2'", part.strip())
                                      for part in caret(version["python"]).split(",") if re.match(r"[<>=!]", part.strip())) or marker
            version = version.get("version", "*")
        yield name + extras + caret(version) + ("; " + marker if marker else "")


def caret(version):
    out = []
    for part in re.split(r"\s*,\s*", (version or "*").split("||")[0].strip()):
        numbers = re.findall(r"\d+", part.split("a")[0].split("b")[0].split("rc")[0])
        if part in ("*", "", "latest"):
            continue
        if part[0] == "^" and numbers:
            at = next((i for i, number in enumerate(numbers) if number != "0"), len(numbers) - 1)
            out += [">=" + part[1:], "<" + ".".join(numbers[:at] + [str(int(numbers[at]) + 1)])]
        elif part[0] == "~" and part[1:2] != "=" and numbers:
            at = min(1, len(numbers) - 1)
            out += [">=" + part[1:], "<" + ".".join(numbers[:at] + [str(int(numbers[at]) + 1)])]
        else:
            out.append(part if part[0] in "<>=!~" else "==" + part)
    return ",".join(out)


class Wanted:
    def __init__(self, place, read_toml):
        self.place, self.read_toml = place, read_toml
        self.build, self.needed, self.groups, self.notes, self.pins = [], [], {}, [], []
        self.own = ""  # the name of the project's package

    def has(self, name):
        return os.path.isfile(os.path.join(self.place, name))

    def text(self, name):
        if not self.has(name):
            return ""
        with open(os.path.join(self.place, name), encoding="utf-8", errors="replace") as file:
            return file.read(4 << 20)

    def add_group(self, name, words):
        if words:
            self.groups.setdefault(plain(name), []).extend(words)

    # Lists of requirements, which may name others.
    def requirements(self, name, seen=()):
        words = []
        folder = os.path.dirname(name)
        if not is_list(name):
            self.notes.append("%s is not read as a list of packages; requirements*.txt is one" % name)
            return words
        for line in self.text(name).replace("\\\n", " ").splitlines():
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            line = re.sub(r"\s--hash=\S+", "", line)
            other = re.match(r"(?:-r|--requirement)[ =]*(\S+)", line)
            limits = re.match(r"(?:-c|--constraint)[ =]*(\S+)", line)
            if other and len(seen) < 8:
                path = os.path.normpath(os.path.join(folder, other.group(1)))
                if not path.startswith("..") and path not in seen:
                    words += self.requirements(path, (*seen, name))
            elif limits:
                path = os.path.normpath(os.path.join(folder, limits.group(1)))
                self.pins += [] if path.startswith("..") else self.requirements(path, (*seen, name))
            elif line.startswith("-") or re.match(r"[./]|[a-z+]+:", line):
                continue  # the project itself, options, and addresses, which open nothing
            elif line:
                words.append(line)
        return words

    def read_pyproject(self):
        if not self.has("pyproject.toml"):
            return
        whole = self.read_toml(os.path.join(self.place, "pyproject.toml"))
        project, tool = whole.get("project", {}), whole.get("tool", {})
        if "build-system" in whole:
            self.build += texts(whole["build-system"].get("requires", []))
        self.needed += texts(project.get("dependencies"))
        own = plain(project.get("name", "") or tool.get("poetry", {}).get("name", "") or "")
        self.own = own
        extras = {plain(name): texts(words) for name, words in project.get("optional-dependencies", {}).items()}

        def of_extra(name, seen=()):
            words = []
            for word in extras.get(plain(name), []):
                again = re.match(r"([A-Za-z0-9._-]+)\s*\[([^\]]+)\]\s*$", word)
                if again and plain(again.group(1)) == own and len(seen) < 9:
                    for part in again.group(2).split(","):
                        if part.strip() not in seen:
                            words += of_extra(part.strip(), (*seen, name))
                else:
                    words.append(word)
            return words

        for name in extras:
            self.add_group(name, of_extra(name))
        groups = {plain(name): words for name, words in whole.get("dependency-groups", {}).items()}

        def of_group(name, seen=()):
            words = []
            for word in groups.get(plain(name), []):
                if isinstance(word, str):
                    words.append(word)
                elif isinstance(word, dict) and word.get("include-group") and plain(word["include-group"]) not in seen:
                    words += of_group(word["include-group"], (*seen, plain(name)))
            return words

        for name in groups:
            self.add_group(name, of_group(name))
        old = tool.get("poetry", {})
        self.needed += poetry(old.get("dependencies"))
        self.add_group("dev", list(poetry(old.get("dev-dependencies"))))
        for name, group in old.get("group", {}).items():
            self.add_group(name, list(poetry(group.get("dependencies"))))
        for name, words in tool.get("pdm", {}).get("dev-dependencies", {}).items():
            self.add_group(name, texts(words))
        self.add_group("dev", texts(tool.get("uv", {}).get("dev-dependencies", [])))
        for name, environment in tool.get("hatch", {}).get("envs", {}).items():
            words = texts(environment.get("dependencies", [])) + texts(environment.get("extra-dependencies", []))
            for feature in texts(environment.get("features", [])):
                words += of_extra(feature)
            self.add_group("test" if name == "default" else name, words)
        flit = tool.get("flit", {}).get("metadata", {})
        self.needed += texts(flit.get("requires", []))
        for name, words in flit.get("requires-extra", {}).items():
            self.add_group(name, texts(words))

    def read_setup_cfg(self):
        config = self.ini("setup.cfg")
        if not config:
            return
        self.own = self.own or plain(config.get("metadata", "name", fallback=""))
        for section, key, to in (("options", "install_requires", None), ("options", "tests_require", "test"),
                                 ("options", "setup_requires", ""), ("metadata", "requires_dist", None)):
            words = texts(config.get(section, key, fallback=""))
            if to is None:
                self.needed += words
            elif to == "":
                self.build += words
            else:
                self.add_group(to, words)
        if config.has_section("options.extras_require"):
            for name, value in config.items("options.extras_require"):
                self.add_group(name, texts(re.sub(r"%\([^)]*\)s", "", value)))

    def ini(self, name):
        config = configparser.RawConfigParser(strict=False, allow_no_value=True)
        config.optionxform = str
        try:
            config.read_string(self.text(name))
        except configparser.Error:
            return None
        return config

    # Of setup.py: what is written there, and lists that it reads from files of requirements.
    def read_setup_py(self):
        try:
            tree = ast.parse(self.text("setup.py"))
        except (SyntaxError, ValueError):
            return
        names = {}

        def value(node, depth=0):
            if depth > 20:
                return None
            if isinstance(node, ast.Constant):
                return node.value
            if isinstance(node, ast.Name):
                return names.get(node.id)
            if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
                return [one for item in node.elts for one in [value(item, depth + 1)] if one is not None]
            if isinstance(node, ast.Dict):
                return {value(key, depth + 1): value(item, depth + 1) for key, item in zip(node.keys, node.values) if key}
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                left, right = value(node.left, depth + 1), value(node.right, depth + 1)
                return left + right if type(left) is type(right) and left is not None else left or right
            if isinstance(node, ast.IfExp):
                return value(node.body, depth + 1)
            if isinstance(node, ast.Subscript):
                table, key = value(node.value, depth + 1), value(getattr(node.slice, "value", node.slice), depth + 1)
                return table.get(key) if isinstance(table, dict) and isinstance(key, str) else None
            if isinstance(node, (ast.Call, ast.ListComp, ast.GeneratorExp, ast.Attribute)):
                files = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
                         and re.search(r"require[^/]*\.(txt|in)$|requirements/[^/]*\.txt$", one.value)]
                inner = [names[one.id] for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(names.get(one.id), (list, str))]
                if files:
                    return [word for file in files for word in self.requirements(file)]
                for one in inner:
                    return texts(one)
            return None

        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    names[target.id] = value(node.value)
                elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    table, key = names.get(target.value.id), value(getattr(target.slice, "value", target.slice))
                    if isinstance(table, dict) and isinstance(key, str):
                        table[key] = value(node.value)
            elif isinstance(node, ast.With):
                for item in node.items:  # with open("requirements.txt") as f
                    if isinstance(item.optional_vars, ast.Name):
                        names[item.optional_vars.id] = value(item.context_expr)
        tables = [names[one] for one in names if isinstance(names[one], dict)]
        keywords = {word.arg: value(word.value) for node in ast.walk(tree) if isinstance(node, ast.Call)
                    and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup" for word in node.keywords}
        for word in [node for node in ast.walk(tree) if isinstance(node, ast.Call)
                     and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup"]:
            for keyword in word.keywords:
                if keyword.arg is None and isinstance(value(keyword.value), dict):
                    keywords.update(value(keyword.value))
        for table in tables:
            if "install_requires" in table:
                keywords = {**table, **keywords}
        self.own = self.own or plain("".join(texts(keywords.get("name"))[:1]))
        self.needed += texts(keywords.get("install_requires"))
        self.build += texts(keywords.get("setup_requires"))
        self.add_group("test", texts(keywords.get("tests_require")))
        if isinstance(keywords.get("extras_require"), dict):
            for name, words in keywords["extras_require"].items():
                if isinstance(name, str) and not name.startswith(":"):
                    self.add_group(name, texts(words))

    def read_pipfile(self):
        if self.has("Pipfile"):
            whole = self.read_toml(os.path.join(self.place, "Pipfile"))
            self.needed += poetry(whole.get("packages"))
            self.add_group("dev", list(poetry(whole.get("dev-packages"))))

    def read_requirements(self):
        # Of a project that lists its packages itself, a requirements.txt is often for something else.
        if not (self.needed or self.has("pyproject.toml")) or self.has("requirements.txt"):
            self.add_group("requirements", self.requirements("requirements.txt"))
        names = {"test": "test", "tests": "test", "testing": "test", "unit": "test", "dev": "dev", "develop": "dev", "development": "dev"}
        for path in sorted(glob.glob(os.path.join(self.place, "*.txt")) + glob.glob(os.path.join(self.place, "requirements", "*.txt")) +
                           glob.glob(os.path.join(self.place, "requirements", "*.in")) +
                           glob.glob(os.path.join(self.place, "test*", "*requirements*.txt"))):
            name = os.path.relpath(path, self.place)
            parts = re.split(r"[-_./]", name.lower().rsplit(".", 1)[0])
            if any(part.startswith(("require", "req", "deps")) for part in parts):
                for part in parts:
                    if part in names:
                        self.add_group(names[part], self.requirements(name))
                        break

    def read_tox(self):
        config = self.ini("tox.ini")
        words = []
        for section in ("testenv", "testenv:py3", "testenv:test"):
            for line in texts(config.get(section, "deps", fallback="")) if config else ():
                factor = re.match(r"([!a-z0-9,._{}-]+):\s+(.*)", line)
                if factor:
                    if not re.search(r"py3\b|py311\b|test", factor.group(1)) or "!" in factor.group(1):
                        continue
                    line = factor.group(2)
                line = line.replace("{toxinidir}/", "").replace("{tox_root}/", "")
                other = re.match(r"-r\s*(\S+)", line)
                if other:
                    words += self.requirements(os.path.normpath(other.group(1)))
                elif not line.startswith(("-", ".", "{")) and ":" not in line.split(";")[0]:
                    words.append(line)
            extras = config.get(section, "extras", fallback="") if config else ""
            for name in texts(extras.replace(",", "\n")):
                words += self.groups.get(plain(name), [])
        self.add_group("tox", words)

    def read_locks(self):
        for name in ("poetry.lock", "pdm.lock", "uv.lock"):
            if self.has(name):
                whole = self.read_toml(os.path.join(self.place, name))
                self.pins += ["%s==%s" % (one["name"], one["version"]) for one in whole.get("package", [])
                              if isinstance(one, dict) and "version" in one and "name" in one
                              and not {"git", "virtual", "editable", "directory", "path"} & set(one.get("source", {}))]
        self.pins += self.requirements("constraints.txt")

    def read(self):
        for step in (self.read_pyproject, self.read_setup_cfg, self.read_setup_py, self.read_pipfile, self.read_requirements,
                     self.read_tox, self.read_locks):
            try:
                step()
            except (AttributeError, TypeError, KeyError, ValueError, RecursionError) as error:
                self.notes.append("the project's lists could not all be read (%s: %s)" % (step.__name__, error))
        return self

    def for_tests(self):
        """Groups by name: those for tests; without any, those for development and what tox installs."""
        chosen = [name for name in self.groups if name in TESTS or re.match(r"tests?-|.*-tests?$", name)]
        if not chosen:
            chosen = [name for name in self.groups if name in DEVELOPMENT]
        chosen += [name for name in self.groups if name in ("tox", "requirements")]
        words = {name: list(dict.fromkeys(self.groups[name])) for name in chosen}
        config = "\n".join(self.text(name) for name in ("setup.cfg", "pytest.ini", "tox.ini", "pyproject.toml", ".coveragerc"))
        options = "\n".join(re.findall(r"addopts[^\n]*(?:\n[ \t]+[^\n]*)*|asyncio_mode[^\n]*|^timeout =[^\n]*|\"-[^\n]*\",", config, re.M))
        for option, package in PLUGINS:
            if option in options:
                words.setdefault("options of pytest", []).append(package)
        return words
