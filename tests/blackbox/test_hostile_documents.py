"""Documents that take many times their size in memory: each reader refuses them, says by which bound, and stays small."""
import pathlib
import subprocess
import sys

import pytest

import oci_images
import support
from mcp_client import served
from support import sandbox_run

MOST_KIB = 64 << 10
VALUES = "{}," * (4 << 20)  # 12 MiB, which would be 960 MB
# A small process between: one that pytest starts itself begins with the peak of pytest.
PEAK = """import os, sys
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
os._exit(os.waitstatus_to_exitcode(status) & 255)
"""


def write_request(folder):
    (folder / "request.json").write_text('{"language":"bash","code":[' + VALUES + "1]}")
    return ["run", "--request", folder / "request.json"], b"the request has more than 100000 values"


def write_batch(folder):
    (folder / "batch.jsonl").write_text('{"language":"bash","code":[' + VALUES + "1]}\n")
    return ["batch", folder / "batch.jsonl"], b"the request has more than 100000 values"


def write_notebook(folder):
    (folder / "book.ipynb").write_text('{"nbformat":4,"cells":[' + VALUES + "1]}")
    return ["run", folder / "book.ipynb"], b"the notebook has more than 250000 values"


def write_record(folder):
    (folder / "result.json").write_text('{"schema":1,"denials":[' + VALUES + "1]}")
    return ["explain", folder / "result.json"], b"the record has more than 500000 values"


def write_cases(folder):
    (folder / "cases").mkdir()
    (folder / "cases/a.in").write_text("1")
    (folder / "main.sh").write_text("cat")
    (folder / "cases/cases.yaml").write_text("groups:\n- &g\n  name: a\n  cases: [&a '" + "x" * 60000 + "'" + ", *a" * 999
                                             + "]\n" + "- *g\n" * 9)
    return ["batch", "--cases", folder / "cases", folder / "main.sh"], b"Aliases are not read"


def write_recipe(folder):
    (folder / "image.yaml").write_text("about: a\npackages: [&a '" + "x" * 60000 + "'" + ", *a" * 60000 + "]\n")
    return ["image", "build", folder / "image.yaml"], b"Aliases are not read"


def write_long_recipe(folder):
    (folder / "image.yaml").write_text("about: a\npackages: [" + "a, " * (2 << 20) + "]\n")
    return ["image", "build", folder / "image.yaml"], b"larger than 4194304 bytes"


def write_index(folder):
    (folder / "index.json").write_text('{"manifests":[' + "{}," * (1 << 20) + "1]}")
    return ["image", "pull", f"oci:{folder}"], b"a document has more than 20000 values"


def write_manifest(folder):
    layout = oci_images.Layout(folder / "layout")
    ref = layout.name(layout.blob(('{"layers":[' + "{}," * (1 << 20) + "1]}").encode()), "latest")
    return ["image", "pull", ref], b"a document has more than 20000 values"


DOCUMENTS = (write_request, write_batch, write_notebook, write_record, write_cases, write_recipe, write_long_recipe,
             write_index, write_manifest)


@pytest.mark.parametrize("write", DOCUMENTS)
def test_a_document_takes_no_more_than_its_bound(any_caller, folder, write):
    words, says = write(folder)
    done = sandbox_run(*words, caller=any_caller, prefix=("/usr/bin/python3", "-S", "-E", "-c", PEAK, folder / "peak"))
    assert done.returncode not in (0, 101), done.stdout
    assert says in done.stdout + done.stderr, (done.stdout, done.stderr)
    assert int((folder / "peak").read_text()) < MOST_KIB


def test_a_request_by_the_library_takes_no_more_than_its_bound(folder):
    (folder / "request.json").write_text('{"code":[' + VALUES + "1]}")
    program = f"""
import ctypes
library = ctypes.CDLL({str(support.BUILD / 'src/libsandboxrun.so')!r})
text = open({str(folder / 'request.json')!r}, "rb").read()
request, error = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
code = library.sbr_request_from_json(text, ctypes.c_size_t(len(text)), ctypes.byref(request), error)
print(code, b"more than 100000 values" in error.raw)
print(*[line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    code, peak = done.stdout.splitlines()
    assert code == "-1 True" and int(peak) < MOST_KIB, done.stdout


def peak_of(client):
    status = pathlib.Path(f"/proc/{client.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def test_a_message_of_mcp_takes_no_more_than_its_bound(any_caller):
    with served(caller=any_caller) as client:
        client.write(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":[' + VALUES.encode() + b"1]}}\n")
        answer = client.wait(7)
        assert answer["error"] == {"code": -32600, "message": "the message has more than 10000 values"}
        assert peak_of(client) < MOST_KIB


def test_calls_of_mcp_that_wait_are_charged_with_their_trees(root):
    """16 run, and each of the others would hold a megabyte of tree for 15 kB of text."""
    with served(caller=root) as client:
        for _ in range(16):
            client.ask("tools/call", {"name": "run_code", "arguments": {"language": "bash", "code": "sleep 60"}})
        first = client.last + 1
        for _ in range(200):
            client.ask("tools/call", {"name": "run_code", "arguments": {"language": "bash", "code": ""},
                                      "_meta": {"x": [{}] * 4900}})
        client.ask("ping")
        client.wait(client.last)
        refused = [number for number, answer in client.answers.items() if number >= first and "error" in answer]
        assert 150 < len(refused) < 200, len(refused)
        assert "too many calls" in client.answers[refused[0]]["error"]["message"]
        assert peak_of(client) < MOST_KIB
