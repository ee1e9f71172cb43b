"""The steps of tests/clients/e2b/conversation.mjs with the Python client of E2B."""
import json

from e2b import PtySize
from e2b_code_interpreter import Sandbox


def failure(work):
    try:
        work()
        return "none"
    except Exception as error:  # pylint: disable=broad-exception-caught
        return type(error).__name__.replace("Exception", "")


seen, live = {}, []
sandbox = Sandbox.create(metadata={"of": "test"}, envs={"LEVEL": "box"}, timeout=120)
seen["running"] = sandbox.is_running()
ran = sandbox.run_code("import os, sys\nprint('out')\nprint('err', file=sys.stderr)\nx = 6\nx * 7",
                       on_stdout=lambda message: live.append(message.line))
seen["ran"] = ["".join(ran.logs.stdout), "".join(ran.logs.stderr), ran.text, ran.error, "".join(live), ran.execution_count]
seen["kept"] = sandbox.run_code("x + 1").text
failed = sandbox.run_code("1/0")
seen["failed"] = [failed.error.name, failed.error.value, "ZeroDivisionError" in failed.error.traceback]
rich = sandbox.run_code("class R:\n  def _repr_html_(self): return '<b>1</b>'\n  def __repr__(self): return 'plain'\nR()")
seen["rich"] = [rich.results[0].html, rich.results[0].text, rich.results[0].is_main_result]
seen["env"] = sandbox.run_code("(os.environ['LEVEL'], os.environ['CELL'])", envs={"CELL": "one"}).text
context = sandbox.create_code_context(language="python")
sandbox.run_code("x = 100", context=context)
seen["context"] = [sandbox.run_code("x", context=context).text, sandbox.run_code("x").text]
sandbox.restart_code_context(context)
seen["restarted"] = sandbox.run_code("x", context=context).error.name
sandbox.remove_code_context(context)
seen["languages"] = [row.language for row in sandbox.list_code_contexts()]
seen["bash"] = "".join(sandbox.run_code("echo $((3 * 4))", language="bash").logs.stdout)
written = sandbox.files.write("dir/a.txt", "héllo")
seen["files"] = [written.path, sandbox.files.read("/home/user/dir/a.txt"), sandbox.files.exists("none"),
                 [[row.name, row.type.value, row.size] for row in sandbox.files.list("dir")],
                 sandbox.files.make_dir("new"), sandbox.files.rename("dir/a.txt", "new/b.txt").name]
sandbox.files.remove("dir")
seen["missing"] = failure(lambda: sandbox.files.read("dir/a.txt"))
seen["shared"] = sandbox.run_code("open('new/b.txt').read()").text
command = sandbox.commands.run("echo $LEVEL $MORE; pwd; echo bad >&2", envs={"MORE": "more"})
seen["command"] = [command.stdout, command.stderr, command.exit_code]
seen["exit"] = failure(lambda: sandbox.commands.run("exit 3"))
cat = sandbox.commands.run("cat", background=True, stdin=True)
sandbox.commands.send_stdin(cat.pid, "typed\n")
sandbox.commands.close_stdin(cat.pid)
seen["cat"] = cat.wait().stdout
loop = sandbox.commands.run("sleep 100", background=True)
seen["list"] = any(row.pid == loop.pid for row in sandbox.commands.list())
seen["killed"] = [loop.kill(), failure(loop.wait)]
seen["slow"] = failure(lambda: sandbox.commands.run("sleep 100", timeout=0.3))
screen = b""
terminal = sandbox.pty.create(size=PtySize(cols=33, rows=11))
sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")


def show(data):
    global screen  # pylint: disable=global-statement
    screen += data


terminal.wait(on_pty=show)
seen["pty"] = b"11 33" in screen
sandbox.set_timeout(60)
again = Sandbox.connect(sandbox.sandbox_id)
seen["again"] = again.run_code("x").text
pages = Sandbox.list(query=__import__("e2b").SandboxQuery(metadata={"of": "test"}))
seen["listed"] = [[row.sandbox_id == sandbox.sandbox_id, row.metadata] for row in pages.next_items()]
seen["info"] = sandbox.get_info().state.value
watch = sandbox.files.watch_dir("new", recursive=True)
sandbox.commands.run("mkdir -p new/deep/er")
sandbox.commands.run("cd new; echo x > deep/er/c.txt; chmod 600 b.txt; mv b.txt d.txt; rm d.txt; mkdir last")
changes = []
while not any(event.name == "last" for event in changes):
    changes += watch.get_new_events()
watch.stop()
seen["watched"] = sorted({f"{event.type.value} {event.name}" for event in changes})
seen["unwatched"] = failure(lambda: sandbox.files.watch_dir("none"))
seen["paused"] = [sandbox.pause(), sandbox.pause(), sandbox.get_info().state.value, sandbox.is_running()]
resumed = Sandbox.connect(sandbox.sandbox_id, timeout=60)
seen["resumed"] = [resumed.run_code("x").text, resumed.get_info().state.value]
seen["ended"] = [sandbox.kill(), sandbox.is_running(), Sandbox.kill(sandbox.sandbox_id)]
print(json.dumps(seen))
