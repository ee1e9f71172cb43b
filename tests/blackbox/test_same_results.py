"""A program has the same result, field for field, over the command line, /v1 and both SDKs.

One program for each verdict, and hello in each language; with SBR_WHOLE_TABLE=1 all programs of the tables."""
import concurrent.futures
import json
import os
import platform
import re
import subprocess

import pytest

import gateway
import support
import test_sdk_typescript
from language_tables import TABLES, main_first, need, surroundings_of

WHOLE = os.environ.get("SBR_WHOLE_TABLE") == "1"
# Of the whole tables, each language by itself: all of them take longer than the runner waits for one test.
PARTS = ["verdicts", *sorted({table.language for table in TABLES.values()})] if WHOLE else ["all"]
AT_ONCE = 4
pytestmark = pytest.mark.group("same results", weight=12)  # few tests that take long
OPTIONS = {"--memory": "memory", "--max-output": "max-output"}  # of the tables, as limits of a request
# Only their types are compared; how much a program wrote before it was killed is chance.
MEASURED = {"cpu_time", "execution_time", "memory_used", "total_ms", "id", "started_at", "stdout_bytes",
            "stdout_omitted_bytes"}
OBJECT = re.compile(r"/tmp/cc\w+\.o")  # of a compiler's linker, another one each time
VERDICTS = {
    "exited": {"args": ["sh", "-c", "echo out; echo err >&2; cat; exit 3"], "stdin": "in"},
    "signaled": {"args": ["sh", "-c", "kill -SEGV $$"]},
    "timeout": {"args": ["sleep", "60"], "limits": {"timeout": "300ms", "grace": "20s"}},
    "cpu_limit": {"args": ["sh", "-c", "while :; do :; done"], "limits": {"cpu-time": "200ms"}},
    "memory_limit": {"language": "python", "code": "x = b'x' * 10**9", "limits": {"memory": "64m"}},
    "output_limit": {"args": ["sh", "-c", "yes"], "limits": {"max-output": "1k"}},
    "disk_limit": {"args": ["sh", "-c", "head -c 9000000 /dev/zero > x"], "limits": {"disk": "1m"}},
    "process_limit": {"args": ["sh", "-c", "sleep 9 & sleep 9 & sleep 9 & sleep 9 & wait"], "limits": {"pids": 2}},
    "denied": {"language": "c", "code": "int main(void) { __asm__ volatile(\"int $0x80\" : : \"a\"(20)); return 0; }\n"},
    "compile_failed": {"language": "c", "code": "int main(void) { return nothing; }\n"},
}


if platform.machine() != "x86_64":
    del VERDICTS["denied"]  # by a system call of another architecture


def request_of(table, case):
    """A row of the tables; None: it has what no request has, or what differs from run to run."""
    options = case.get("options", [])
    if set(options[::2]) - set(OPTIONS) or "@" in json.dumps([case.get("args"), case.get("env")]) or "timeouts" in case:
        return None
    request = {"language": table.language, "stdin": case.get("stdin", "")}
    if "code" in case:
        request["code"] = case["code"]
    else:
        name = case.get("request") or case.get("files") or case.get("directory")
        folder = table.folder / name if name else table.folder
        paths = main_first(table, folder) if name else [folder / (case["program"] + table.extension)]
        request["files"] = [{"path": str(path.relative_to(folder)), "content": path.read_text()} for path in paths]
    limits = {OPTIONS[option]: value for option, value in zip(options[::2], options[1::2])}
    more = {"args": case.get("args"), "env": case.get("env"), "limits": limits or None}
    return {**request, **{name: value for name, value in more.items() if value is not None}}


def is_there(table):
    try:
        need(table, None)
    except pytest.skip.Exception:
        return False
    return True


def chosen(part):
    """Requests by name."""
    rows = {f"verdict-{name}": {"stdin": "", **request} for name, request in VERDICTS.items()} if part in PARTS[:1] else {}
    tables = [table for table in TABLES.values() if part in ("all", table.language)]
    for table in filter(is_there, tables):
        for name, case in table.cases.items():
            if WHOLE or name == "hello":
                rows[f"{table.language}-{name}"] = request_of(table, case)
    return {name: request for name, request in rows.items() if request}


def leaves(value, path=""):
    """(path, value) of all that is in it; of what is measured the type only."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if not parts:
        measured = "/metrics/" in path or path.rsplit("/", 1)[-1] in MEASURED
        known = OBJECT.sub("", value) if isinstance(value, str) else value
        yield path, type(value) in (int, float) or type(value) if measured else known
        return
    for name, one in parts:
        if not str(name).startswith("_"):
            yield from leaves(one, f"{path}/{name}")


def each(call, requests):
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(requests, pool.map(call, requests.values())))


def differences(results, expected):
    found = []
    for name in expected:
        one, other = dict(leaves(results[name])), dict(leaves(expected[name]))
        found += [(name, path, one.get(path, "none"), other.get(path, "none")) for path in {**one, **other}
                  if one.get(path, "none") != other.get(path, "none")]
    return found[:20]


@pytest.fixture(name="requests", scope="module", params=PARTS)
def _requests(request):
    return chosen(request.param)


@pytest.fixture(name="expected", scope="module")
def _expected(requests):
    """Those of the command line, when what a language prepares or compiles the first time is there."""
    def run(request):
        where = surroundings_of(None)
        return support.result_of("run", "--request", "-", stdin=json.dumps(request).encode(), **where)

    results = each(run, requests)
    again = {name: requests[name] for name, result in results.items() if len(result["stages"]) > 1}
    return {**results, **each(run, again)}


@pytest.fixture(name="http", scope="module")
def _http(tmp_path_factory):
    env = surroundings_of(None)["env"]
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g", env=env) as running:
        yield running


@pytest.fixture(name="place", scope="module")
def _place(tmp_path_factory):
    return test_sdk_typescript.install(tmp_path_factory.mktemp("sdk"))


def test_each_verdict_is_there(expected):
    seen = {name: result["outcome"] for name, result in expected.items() if name.startswith("verdict-")}
    assert seen == ({f"verdict-{name}": name for name in VERDICTS} if seen or not WHOLE else {})


def test_over_http(http, requests, expected):
    found = differences(each(http.run, requests), expected)
    assert not found


def test_by_the_sdk_for_python(http, requests, expected):
    program = ("import json, sys\nfrom sandbox_run import Sandbox\n"
               f"box = Sandbox(base_url='http://{http.address}', token={http.token('python')!r})\n"
               "def run(language=None, args=None, **rest):\n"
               "    more = {'args': args} if language else {'command': args}\n"
               "    return box.run(rest.pop('code', None), language, **more, **rest).raw\n"
               "json.dump({name: run(**one) for name, one in json.load(sys.stdin).items()}, sys.stdout)\n")
    env = support.surroundings(None, {"PYTHONPATH": str(support.REPO / "sdk/python"), "PYTHONDONTWRITEBYTECODE": "1"})
    done = subprocess.run(["/usr/bin/python3", "-c", program], input=json.dumps(requests).encode(), env=env,
                          stdout=subprocess.PIPE, check=True)
    found = differences(json.loads(done.stdout), expected)
    assert not found


def test_by_the_sdk_for_typescript(http, requests, expected, place):
    here = {"baseUrl": f"http://{http.address}", "token": http.token("typescript")}
    (place / "all.mjs").write_text('import { SandboxExecutor } from "sandbox-run";\nimport { readFileSync } from "node:fs";\n'
                                   f"const box = new SandboxExecutor({json.dumps(here)}), results = {{}};\n"
                                   "for (const [name, one] of Object.entries(JSON.parse(readFileSync(0))))\n"
                                   "  results[name] = await box.run(one);\nconsole.log(JSON.stringify(results));\n")
    done = subprocess.run(["node", place / "all.mjs"], input=json.dumps(requests).encode(), stdout=subprocess.PIPE,
                          env=test_sdk_typescript.NODE_ONLY, check=True)
    found = differences(json.loads(done.stdout), expected)
    assert not found
