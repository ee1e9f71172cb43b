"""What a project leaves out: secrets without being asked, patterns, a .sandboxignore, the configuration; and what is told
of it."""
import json
import os
import shutil

import pytest

import support
import trees
from support import result_of, sandbox_run

SECRET = "s3cr3t-of-the-project"
HIDDEN = (".env", ".env.local", "deep/er/id_rsa", "own.pem", ".npmrc", ".aws/credentials", "deep/.ssh/config")
SHOWN = ("main.py", ".env.example", "ca.pem", "deep/id_rsa.pub", "deep/.npmrc")
READ = """
import os
for top, names, files in os.walk("."):
    for name in sorted(files):
        path = os.path.join(top, name)[2:]
        print(path, "has it" if "s3cr3t" in open(path).read() else "has it not")
"""


def grow(top, caller):
    for name in HIDDEN:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"//x/:_authToken={SECRET}\n")
    for name in SHOWN:
        (top / name).write_text(f"-----BEGIN CERTIFICATE----- {SECRET}\n")
    (top / "main.py").write_text(READ)
    (top / "deep/.npmrc").write_text("fund=false # s3cr3t\n")
    trees.give(top, caller)
    return top


@pytest.fixture(name="project")
def make_project(folder, caller):
    return grow(folder / "project", caller)


def seen(stdout):
    return {line.split(" ")[0] for line in stdout.splitlines() if line.endswith("has it")}


def inside(names):
    return sorted("/work/" + name for name in names)


# A directory stands for what is in it.
MASKED = [name for name in HIDDEN if "/." not in name and not name.startswith(".aws")] + [".aws", "deep/.ssh"]


@pytest.mark.parametrize("backend", ("overlay", "disk", "copy"))
def test_secrets_are_left_out_and_told(project, caller, backend):
    result = result_of("run", "--project", str(project), "--diff", caller=caller, env={"SANDBOX_RUN_COW": backend})
    assert seen(result["stdout"]) == {"main.py", *SHOWN[1:]}
    assert result["excluded"] == inside(MASKED)
    assert result["changes_summary"] == "no changes"


def test_a_directory_as_a_program_leaves_the_same_out(project, caller):
    done = sandbox_run("run", str(project), caller=caller)
    assert seen(done.stdout.decode()) == {"main.py", *SHOWN[1:]}, done.stderr
    assert "left out of what the program sees: " in done.stderr.decode()
    assert sorted(result_of("run", str(project), caller=caller)["excluded"]) == inside(MASKED)


def test_what_is_left_out_is_one_line_that_quiet_silences(project, caller):
    done = sandbox_run("exec", "--project", str(project), "--", "true", caller=caller)
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1 and "/work/.aws" in lines[0] and "and 2 more" in lines[0], lines
    assert "--include PATTERN" in lines[0]
    done = sandbox_run("exec", "--quiet", "--project", str(project), "--", "true", caller=caller)
    assert done.stderr == b""


def test_plan_and_explain_name_it(project, caller):
    plan = sandbox_run("plan", "--json", "--project", str(project), str(project / "main.py"), caller=caller)
    assert sorted(json.loads(plan.stdout)["excluded"]) == inside(MASKED)
    told = sandbox_run("explain", "-", stdin=plan.stdout, caller=caller).stdout.decode()
    assert "left out" in told and "/work/deep/.ssh" in told


@pytest.mark.parametrize("options, shown", [
    (("--include", ".env*"), {".env", ".env.local"}),
    (("--include", "/.aws/credentials"), {".aws/credentials"}),
    (("--include", ".ssh/"), {"deep/.ssh/config"}),
    (("--include", "*"), set(HIDDEN)),
])
def test_an_included_pattern_shows_what_it_names_and_nothing_else(project, caller, options, shown):
    result = result_of("run", "--project", str(project), *options, caller=caller)
    assert seen(result["stdout"]) == shown | {"main.py", *SHOWN[1:]}


def test_more_is_left_out_by_option_request_and_the_projects_own_file(project, caller):
    (project / ".sandboxignore").write_text("# not for programs\ndeep/\n!.env\n")
    result = result_of("run", "--project", str(project), "--exclude", "ca.*", caller=caller)
    assert seen(result["stdout"]) == {"main.py", ".env.example"}
    assert "/work/deep" in result["excluded"] and "/work/.env" in result["excluded"]
    request = {"language": "python", "program": "main.py", "project": str(project), "exclude": ["ca.pem"],
               "include": ["deep/id_rsa.pub"]}
    result = result_of("run", "--request", "-", stdin=json.dumps(request).encode(), caller=caller)
    assert seen(result["stdout"]) == {"main.py", ".env.example", "deep/id_rsa.pub"}


def test_the_configuration_excludes_and_only_the_users_own_includes(project, folder, caller):
    home = folder / "home"
    own = home / ".config/sandbox-run/config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("exclude: [ca.pem]\ninclude: ['.env']\n")
    (project / ".sandbox-run.yaml").write_text("exclude: [.env.example]\n")
    trees.give(folder, caller)
    env = {"HOME": str(home), "SANDBOX_RUN_STATE": str(home / "state")}

    def run(*words):
        return sandbox_run(*words, caller=caller, env=env, cwd=project)

    assert run("trust").returncode == 0
    done = run("run", "--project", ".")
    assert seen(done.stdout.decode()) == {"main.py", ".env", *SHOWN[3:]}, done.stderr
    assert "exclude                  ca.pem, .env.example" in run("config").stdout.decode()
    (project / ".sandbox-run.yaml").write_text("include: [.env]\n")
    trees.give(folder, caller)
    refused = run("trust")
    assert refused.returncode != 0 and b"only the user's own file can have it" in refused.stderr


def test_apply_neither_writes_nor_deletes_what_was_left_out(project, folder, caller):
    """The program does what it can to get rid of it, in every backend that moves directories differently."""
    state = {"SANDBOX_RUN_STATE": str(folder / "state")}
    (folder / "state").mkdir(mode=0o700)
    trees.give(folder, caller)
    before = {name: (project / name).read_bytes() for name in HIDDEN}
    script = "echo x > .env; rm -rf .env .aws deep; mv deep gone; mkdir new; mv deep/er new; echo y > main.py"
    for backend in ("overlay", "copy"):
        kept = result_of("exec", "--keep", "--project", str(project), "--", "sh", "-c", script, caller=caller,
                         env={**state, "SANDBOX_RUN_COW": backend})
        assert kept.get("changes_id"), kept
        done = sandbox_run("apply", kept["changes_id"], "--yes", caller=caller, env=state)
        assert done.returncode == 0, done.stderr
        assert (project / "main.py").read_text() == "y\n"
        assert {name: (project / name).read_bytes() for name in HIDDEN} == before
        shutil.rmtree(project)
        grow(project, caller)


def test_what_the_request_itself_names_is_there(project, caller):
    (project / ".env.py").write_text("print('ran')\n")
    trees.give(project, caller)
    done = sandbox_run("run", "--project", str(project), str(project / ".env.py"), caller=caller)
    assert done.stdout == b"ran\n", done.stderr
    request = {"args": ["cat", ".env"], "project": str(project), "files": [{"path": ".env", "content": "mine"}]}
    assert result_of("run", "--request", "-", stdin=json.dumps(request).encode(), caller=caller)["stdout"] == "mine"


@pytest.mark.parametrize("text, said", [("!x", "begins with '!'"), ("/", "is empty")])
def test_a_faulty_pattern_is_one_sentence(folder, text, said):
    done = sandbox_run("exec", "--project", str(folder), "--exclude", text, "--", "true")
    assert done.returncode == 125 and said in done.stderr.decode(), done.stderr


def test_a_refused_write_names_the_pattern_that_would_allow_it(project, caller):
    script = "import sys\ntry: open('/work/.env', 'w')\nexcept OSError as e: sys.exit(e)\n"
    done = result_of("run", "--project", str(project), "-l", "python", "-c", script, caller=caller)
    denial = [one for one in done["denials"] if one["target"] == "/work/.env"]
    assert denial and denial[0]["remedy"] == "--include .env", done["denials"]
    done = result_of("run", "--project", str(project), *denial[0]["remedy"].split(), "-l", "python", "-c", script,
                     caller=caller)
    assert done["exit_code"] == 0, done


def test_a_link_hides_what_it_leads_to(folder, caller):
    (folder / "link").mkdir()
    (folder / "link/settings").write_text(SECRET)
    (folder / "link/.env").symlink_to("settings")
    os.symlink("/etc/hostname", folder / "link/.env.out")
    trees.give(folder / "link", caller)
    result = result_of("exec", "--project", str(folder / "link"), "--", "cat", ".env", "settings", caller=caller)
    assert result["stdout"] == "" and result["excluded"] == ["/work/settings"]


def test_volumes_leave_out_only_where_they_are_copy_on_write(project, caller):
    def text(mode):
        return support.result_of("exec", "--volume", f"{project}:/data:{mode}", "--", "cat", "/data/.env",
                                 caller=caller)["stdout"]

    assert SECRET in text("ro") and text("cow") == ""
