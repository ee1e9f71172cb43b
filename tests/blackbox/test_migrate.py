"""SQL for a named database: tried on a copy of it, and applied to it in one transaction after a question."""
import os
import pathlib
import subprocess

import pytest

import machine_gives
import toolchains
from screen import shown
from support import AS_ORDINARY, DEADLINE, sandbox_run
from waiting import SOON

TABLE = "CREATE TABLE word (id serial PRIMARY KEY, text text NOT NULL); INSERT INTO word (text) VALUES ('a'), ('b');"


class Server:
    """A server of our own: its socket lies in the folder."""

    def __init__(self, folder):
        self.env = {"PGHOST": str(folder), "PGUSER": "postgres", "PGPORT": "5432", "PATH": os.environ["PATH"]}
        self.data = folder / "data"

    def call(self, *words, check=True):
        line = [*(AS_ORDINARY if os.geteuid() == 0 else []), *map(str, words)]
        done = subprocess.run(line, env=self.env, capture_output=True, timeout=DEADLINE, check=False, text=True)
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def sql(self, text, database="shop"):
        return self.call("psql", "-XqtA", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", text)


@pytest.fixture(name="server")
def _server(folder):
    machine_gives.skip_if(None if "postgres" in toolchains.names() else "postgres is not installed")
    bin_dir = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    os.chmod(folder, 0o777)
    server = Server(folder)
    server.call(f"{bin_dir}/initdb", "-D", server.data, "-U", "postgres", "-A", "trust", "--no-sync")
    server.call(f"{bin_dir}/pg_ctl", "-D", server.data, "-w", "-l", folder / "log", "-o", f"-c listen_addresses='' -k {folder}", "start")
    try:
        server.sql("CREATE DATABASE shop", "postgres")
        server.sql(TABLE)
        yield server
    finally:
        server.call(f"{bin_dir}/pg_ctl", "-D", server.data, "-m", "immediate", "-w", "stop")


def migrate(server, folder, text, *words):
    (folder / "m.sql").write_text(text)
    return sandbox_run("migrate", folder / "m.sql", "--database", "shop", *words, env=server.env)


GOOD = "ALTER TABLE word ADD COLUMN size int;\nUPDATE word SET size = length(text); -- the end"


@pytest.mark.container
@pytest.mark.parametrize("answer, applied", [("y", "1,1"), ("n", None)])
def test_the_person_is_asked_after_the_try(server, folder, answer, applied):
    (folder / "m.sql").write_text(GOOD)
    with shown("migrate", folder / "m.sql", "--database", "shop", env=server.env, columns=120) as screen:
        screen.wait("Apply to production database shop? [y/N]", 6 * SOON)
        assert "size" not in server.sql("SELECT string_agg(column_name, ',') FROM information_schema.columns WHERE table_name = 'word'")
        screen.type(answer + "\r")
        assert screen.end() == 0
        assert ("applied to shop, in one transaction" in screen.text) == bool(applied)
    if applied:
        assert server.sql("SELECT string_agg(size::text, ',') FROM word") == applied


@pytest.mark.container
def test_what_fails_on_the_copy_reaches_no_database(server, folder):
    before = server.sql("SELECT count(*), max(id) FROM word")
    for text, says in (("INSERT INTO word (text) VALUES ('c'); SELECT 1/0;", "division by zero"),
                       ("INSERT INTO word (text) VALUES ('c'); COMMIT; INSERT INTO word (text) VALUES ('d');", "leave BEGIN, COMMIT"),
                       (f"\\! touch {folder}/made\n", "syntax error"), (f"SELECT 1 \\! touch {folder}/made\n", "syntax error")):
        done = migrate(server, folder, text, "--yes")
        assert done.returncode not in (0, 125) and says in done.stderr.decode(), (text, done.stderr)
        assert server.sql("SELECT count(*), max(id) FROM word") == before and not (folder / "made").exists()


@pytest.mark.container
def test_without_a_person_it_is_applied_when_that_was_said(server, folder):
    done = migrate(server, folder, GOOD)
    assert done.returncode == 0 and b"--yes applies it" in done.stderr
    assert server.sql("SELECT count(*) FROM information_schema.columns WHERE table_name = 'word'") == "2"
    assert migrate(server, folder, "CREATE UNIQUE INDEX ON word (text)", "--yes", "--quiet", "--schema-only").returncode == 0
    done = migrate(server, folder, "INSERT INTO word (text) VALUES ('a')", "--yes", "--schema-only")
    assert done.returncode == 125 and b"duplicate key" in done.stderr and b"psql failed" in done.stderr, "nothing half done"
    assert server.sql("SELECT count(*) FROM word") == "2"


@pytest.mark.parametrize("words, says", [((), b"say `sandbox-run migrate"), (("/nonesuch.sql", "--database", "shop"), b"nonesuch.sql")])
def test_what_is_missing_is_said(words, says):
    done = sandbox_run("migrate", *words)
    assert done.returncode in (125, 127) and says in done.stderr
