"""Modules of a program that deserve a look: told by --check, in the result and by explain; from its own files."""
from support import result_of, sandbox_run

CODE = "import json, subprocess\nfrom socket import socket\n"


def test_check_says_what_a_program_uses_and_a_run_does_not(caller):
    done = sandbox_run("run", "--check", "-l", "python", "-c", CODE, caller=caller)
    assert done.returncode == 0 and done.stderr.decode().splitlines() == [
        "sandbox-run: the program uses subprocess, socket"], done.stderr
    done = sandbox_run("run", "-l", "python", "-c", CODE, caller=caller)
    assert done.stderr == b""


def test_the_result_and_explain_have_the_list(folder):
    (folder / "main.js").write_text("require('./part'); require('node:child_process')\n")
    (folder / "part.js").write_text("import('net')\n")
    (folder / "notes.txt").write_text("require('dgram')\n")
    result = result_of("run", str(folder))
    assert result["uses"] == ["child_process", "net"], result
    assert result_of("run", "--project", str(folder), str(folder / "main.js"))["uses"] == ["child_process"]
    told = sandbox_run("explain", "-", stdin=sandbox_run("run", "--json", str(folder)).stdout).stdout.decode()
    assert "uses child_process, net" in told
    assert result_of("run", "-l", "python", "-c", "print(1)")["uses"] == []
