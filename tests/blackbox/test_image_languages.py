"""Programs of a language in an image: its own tools, every stage, sessions, and what is kept of them."""
import functools
import gzip
import json
import os
import subprocess

import pytest

import oci_images
import support
from oci_images import archive, directory, host_file, link, member
from waiting import on_terminal

PACK = functools.partial(gzip.compress, compresslevel=1)
# A program that prints the libraries it was started with.
SHOW = b"""#include <stdio.h>
#include <string.h>
int main(void) { char line[500]; FILE *f = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof(line), f)) if (strstr(line, "/driver/")) return puts("ours"), 0;
  return puts("none"), 0; }
"""
# A compiler that is a script: what it was called with becomes the program.
COMPILER = b"""#!/bin/sh
for word; do [ "$before" = -o ] && out=$word; before=$word; done
echo "#!/bin/sh" > "$out"; echo "echo WHO $*" >> "$out"; chmod +x "$out"
"""


@pytest.fixture(name="place", scope="module")
def image_place(tmp_path_factory):
    """Images and a cache for all tests of this file."""
    folder = tmp_path_factory.mktemp("images")
    source = folder / "show.c"
    source.write_bytes(SHOW)
    for compiler in ("gcc", "musl-gcc"):
        subprocess.run([compiler, source, "-o", folder / compiler], check=True)
    return Place(folder)


class Place:
    def __init__(self, folder):
        self.folder = folder
        self.layout = oci_images.Layout(folder / "layout")
        self.env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder)}
        self.refs = {}

    def image(self, name, members, **config):
        """Made on first use."""
        if name not in self.refs:
            self.refs[name] = self.layout.add([archive(members())], name, pack=PACK, **config)
        return self.refs[name]

    def python(self):
        return self.image("python", lambda: [*oci_images.busybox_members(), *oci_images.python_members(),
                                             host_file(self.folder / "gcc", "opt/tools/bin/perl")],
                          Env=["PATH=/opt/tools/bin:/bin", "WORD=of the image"], WorkingDir="/app")

    def run(self, *words, **kwargs):
        return support.sandbox_run(*words, env=self.env, **kwargs)

    def result(self, *words, **kwargs):
        return support.result_of(*words, env=self.env, **kwargs)


def test_a_program_runs_with_the_tools_of_the_image(root, place):
    code = ("import os, sys, json\nprint(sys.executable, os.path.exists('/usr/bin'), os.getcwd(), os.environ['WORD'])\n"
            "open('/opt/tools/new', 'w').close()\n")
    result = place.result("run", "--image", place.python(), "-l", "python@3", "-c", code, caller=root)
    assert result["stdout"] == "/opt/tools/bin/python3 False /work of the image\n", result
    assert result["language"]["tool_version"].startswith("3.")
    result = place.result("run", "--image", place.python(), "-l", "python", "-c", "import none", caller=root)
    assert result["diagnosis"]["type"] == "ModuleNotFoundError" and result["language"]["tool_version"]
    done = place.run("run", "--image", place.python(), "-l", "python", "--check", "-c", "x = (", caller=root)
    assert done.returncode == 1 and b"was never closed" in done.stderr
    done = place.run("run", "--image", place.python(), "-l", "ruby", "-c", "1", caller=root)
    assert done.returncode == 127 and b"ruby is not in the image" in done.stderr
    done = place.run("run", "--image", place.python(), "-l", "python@2", "-c", "1", caller=root)
    assert done.returncode == 127 and b"/opt/tools/bin/python3" in done.stderr


def test_a_session_keeps_its_variables_in_an_image(root, place):
    done = place.run("repl", "--image", place.python(), "python", stdin=b"x = 6\nimport os\nprint(x * 7, os.listdir('/app'))\n",
                     caller=root)
    assert b"42 ['data']" in done.stdout, done


def test_objects_of_ours_go_only_to_a_c_library_that_takes_them(root, place):
    """Perl's stdout is made live by a shared object: on another C library nothing would start."""
    result = place.result("run", "--image", place.python(), "-l", "perl", "-c", "1", caller=root)
    assert result["stdout"] == "ours\n", result
    loader = next(path for path in os.listdir("/lib") if path.startswith("ld-musl-"))
    ref = place.image("musl", lambda: [host_file(f"/lib/{loader}"), host_file(place.folder / "musl-gcc", "usr/bin/perl")])
    result = place.result("run", "--image", ref, "-l", "perl", "-c", "1", caller=root)
    assert result["stdout"] == "none\n", result


def test_what_was_compiled_belongs_to_one_image(any_caller, place):
    cache = {**place.env, "SANDBOX_RUN_CACHE": str(place.folder / f"cache-{any_caller}")}
    if any_caller == support.Callers.USER and os.geteuid() == 0:
        os.makedirs(cache["SANDBOX_RUN_CACHE"])
        os.chown(cache["SANDBOX_RUN_CACHE"], support.ORDINARY_UID, support.ORDINARY_UID)
    outs = []
    for who in (b"one", b"two", b"one"):
        ref = place.image(f"gcc-{who.decode()}", lambda: [*oci_images.busybox_members(),  # pylint: disable=cell-var-from-loop
                                                          directory("usr/bin"), link("build", "/etc"), link("driver", "/etc"),
                                                          member("usr/bin/gcc", COMPILER.replace(b"WHO", who))])
        outs.append(support.result_of("run", "--image", ref, "-l", "c", "-c", "int x;", caller=any_caller, env=cache))
    assert [result["stdout"].split()[0] for result in outs] == ["one", "two", "one"], outs
    assert [result["cached"] for result in outs] == [False, False, True]
    assert "live.o" not in outs[0]["stdout"]


LANGUAGE = """
name: shout
about: a language whose stages show where they are
mains: [main.shout]
binaries: [/bin/sh]
package: busybox
image: REF
source: main.shout
prepare: {run: [sh, -c, 'cat /app/data > ${prepared}/at']}
install: {run: [sh, -c, 'cat /app/data ${prepared}/at > ${deps}/at', sh], network: true, config_files: [~/.shout, CONF]}
compile: {run: [sh, -c, 'cat ${deps}/at ${prepared}/at > ${build}/at; cat CONF >> ${build}/at; true']}
run: ["${binary}", -c, "cat ${build}/at ${deps}/at"]
selftest: {code: x, stdout: x, exit: 0}
"""


def test_every_stage_sees_the_image_that_the_language_names(root, place):
    ref = place.image("stages", oci_images.busybox_members)
    own = place.folder / "own.conf"
    own.write_text("host's\n")
    text = LANGUAGE.replace("REF", ref).replace("CONF", str(own))
    (place.folder / "shout.yaml").write_text(text)
    words = ["run", "--language-file", place.folder / "shout.yaml", "-l", "shout", "--dep", "any", "-c", ""]
    result = place.result(*words, caller=root)
    assert result["stdout"] == "first\nfirst\nfirst\nfirst\nfirst\n", result
    assert [stage["name"] for stage in result["stages"]] == ["prepare", "dependencies", "compile", "run"]
    planned = json.loads(place.run("plan", "--json", *words[1:], caller=root).stdout)
    assert not [op for op in planned["mounts"] if op.get("from") == "/usr"]


SLOW = """name: slow
about: takes a while to get ready
extensions: [.slow]
mains: [main.slow]
source: main.slow
binaries: [/bin/sh]
package: dash
prepare: {run: [/bin/busybox, sh, -c, "echo made > ${prepared}/made; /bin/busybox sleep 1.2"]}
run: [/bin/sh, "${source}", "${prepared}"]
selftest: {code: "echo fine", stdout: "fine\\n", exit: 0}
"""


def test_a_language_is_made_ready_once_for_each_image_and_a_terminal_says_so(root, place):
    refs = [place.image(name, lambda name=name: [*oci_images.busybox_members(), member(f"opt/{name}")]) for name in ("ready1", "ready2")]
    (place.folder / "slow.yaml").write_text(SLOW)
    words = ["run", "--language-file", str(place.folder / "slow.yaml"), "-l", "slow", "-c", "cat $1/made"]
    for ref in refs:
        place.run("image", "pull", ref, caller=root)
    status, seen = on_terminal(*words, "--image", refs[0], caller=root, env=place.env)
    assert status == 0 and f"slow: making the language ready, once in {refs[0]}"[:60].encode() in seen and b" ... 1 s" in seen, seen
    status, seen = on_terminal(*words, "--image", refs[0], caller=root, env=place.env)
    assert status == 0 and b"making the language ready" not in seen, seen
    done = place.run(*words, "--image", refs[1], caller=root)  # another digest, and no terminal
    assert (done.returncode, done.stdout) == (0, b"made\n"), done.stderr
    assert done.stderr.startswith(b"sandbox-run: slow: making the language ready, once in ") and done.stderr.count(b"\n") == 1
    assert [stage["name"] for stage in place.result(*words, "--image", refs[1], caller=root)["stages"]] == ["run"]
