"""Directories of ours through volumes: what later runs trust because it is of their user.

A program of an ordinary user is that user; as root a tree that is written to is mapped to its owner.  So who could write to the
cache, the state or the settings would choose what later runs execute, apply or obey."""
import os
import subprocess

import pytest

import support
from harness import callers, json_error

LANGUAGE = """name: forged
about: a language that a program inside has made
extensions: [.forged]
mains: [main.forged]
binaries: [/usr/bin/awk, /usr/bin/mawk]
package: mawk
source: main.forged
run: ["${binary}", "-f", "${source}"]
selftest: {code: "BEGIN { print 1 }", stdout: "1\\n", exit: 0}
"""
# Where each is below the user's home, and what a volume may be that reaches it.
PLACES = {"cache": ".cache/sandbox-run", "state": ".local/state/sandbox-run", "settings": ".config/sandbox-run"}


@pytest.fixture(name="home")
def make_home(tmp_path_factory):
    """Of the caller's own, and as new: none of the directories is there yet."""
    def make(caller):
        path = tmp_path_factory.mktemp("home")
        for above in (path, *path.parents[:2]):
            os.chmod(above, 0o755)
        if caller == "user" and os.geteuid() == 0:
            os.chown(path, support.ORDINARY_UID, support.ORDINARY_UID)
        return path
    return make


def as_caller(caller, *words):
    prefix = support.AS_ORDINARY if caller == "user" and os.geteuid() == 0 else []
    subprocess.run([*prefix, *map(str, words)], check=True)


def run_with(home, caller, source, mode, without="", words=("true",)):
    env = {"HOME": str(home), "SANDBOX_RUN_CACHE": None, "SANDBOX_RUN_STATE": None,
           "SANDBOX_RUN_TEST_WITHOUT": without or None}
    return support.result_of("exec", "--volume", f"{source}:/data:{mode}", "--", *words, caller=caller,
                             hooks=bool(without), env=env)


@pytest.mark.core
@callers
def test_what_later_runs_trust_cannot_be_written_to(home, caller):
    folder = home(caller)
    for noun, below in PLACES.items():
        place = folder / below
        as_caller(caller, "mkdir", "-p", place.parent)
        # It is not there yet, but would be made in the volume.
        above = json_error(run_with(folder, caller, place.parent, "rw"))
        as_caller(caller, "mkdir", "-p", "-m", "700", place)
        as_caller(caller, "mkdir", place / "deep")
        tries = [above, *(json_error(run_with(folder, caller, source, "rw"))
                          for source in (folder, place, place / "deep"))]
        for error in tries:
            assert error["stage"] == "volumes" and "trust" in error["message"], error
        assert all(noun in error["message"] for error in tries[2:]), tries
        link = folder / f"link-{noun}"
        as_caller(caller, "ln", "-s", place.parent, link)
        error = json_error(run_with(folder, caller, f"{link}/{place.name}", "rw"))
        assert noun in error["message"], error


@callers
def test_no_volume_holds_a_link_on_the_way_to_them(home, caller):
    """What a link leads to lies apart, but whoever can exchange the link chooses what later runs find."""
    folder = home(caller)
    as_caller(caller, "mkdir", "-p", folder / "apart/other", folder / "links", folder / ".local/state")
    for noun, below in {**PLACES, "languages": ".config/sandbox-run/languages",
                        "a language": ".config/sandbox-run/languages/own.yaml",
                        "configuration": ".config/sandbox-run/config.yaml"}.items():
        place, target = folder / below, folder / "apart" / noun.replace(" ", "-")
        as_caller(caller, "mkdir", "-p", "-m", "700", place.parent)
        if noun == "a language":
            target = folder / "apart/own.yaml"
            target.write_text(LANGUAGE)
            os.chmod(target, 0o666)
        elif noun == "configuration":
            target = folder / "apart/config.yaml"
            as_caller(caller, "touch", target)
        else:
            as_caller(caller, "mkdir", "-m", "700", target)
        as_caller(caller, "ln", "-s", target, folder / "links" / target.name)
        as_caller(caller, "ln", "-s", folder / "links" / target.name, place)
        for source in (folder / "links", folder / "apart", target):
            error = json_error(run_with(folder, caller, source, "rw"))
            assert error["stage"] == "volumes" and "trust" in error["message"], (noun, source, error)
        assert run_with(folder, caller, folder / "apart/other", "rw")["exit_code"] == 0
        as_caller(caller, "rm", place)
        as_caller(caller, "rm", "-r", target, folder / "links" / target.name)


@callers
def test_what_lies_apart_can_be_and_all_can_be_read(home, caller):
    folder = home(caller)
    as_caller(caller, "mkdir", folder / "project")
    result = run_with(folder, caller, folder / "project", "rw", words=("touch", "/data/new"))
    assert result["exit_code"] == 0 and (folder / "project/new").exists(), result
    for mode in ("ro", "cow"):
        assert run_with(folder, caller, folder, mode)["exit_code"] == 0


def forge(folder, caller, without=""):
    as_caller(caller, "mkdir", "-p", folder / ".config")
    code = f"mkdir -p /data/sandbox-run/languages; cat > /data/sandbox-run/languages/forged.yaml <<'E'\n{LANGUAGE}E\n"
    result = run_with(folder, caller, folder / ".config", "rw", without, ("sh", "-c", code))
    later = support.result_of("run", "--lang", "forged", "--code", "BEGIN { print 2 }", caller=caller,
                              env={"HOME": str(folder)})
    return result, later.get("stdout") == "2\n"


@callers
def test_a_program_makes_no_language(home, caller):
    result, obeyed = forge(home(caller), caller)
    assert json_error(result) and not obeyed


@callers
def test_a_program_makes_a_language_where_nothing_keeps_it(home, caller):
    result, obeyed = forge(home(caller), caller, "own-places")
    assert result.get("exit_code") == 0 and obeyed, result


@callers
def test_no_volume_is_the_directory_of_the_engine(home, caller):
    folder = home(caller)
    as_caller(caller, "mkdir", "-m", "700", folder / "engine")
    for mode in ("ro", "rw", "cow"):
        result = support.result_of("exec", "--volume", f"{folder}/engine:/data:{mode}", "--", "true", caller=caller,
                                   env={"SANDBOX_RUN_SOCKET": str(folder / "engine/engine.sock")})
        assert "engine" in json_error(result)["message"], result
