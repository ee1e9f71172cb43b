// What a program does with @e2b/code-interpreter, as JSON.  Usage: conversation.mjs NODE_MODULES
import { pathToFileURL } from "node:url";

const [modules] = process.argv.slice(2);
const { Sandbox } = await import(pathToFileURL(`${modules}/@e2b/code-interpreter/dist/index.mjs`));
const seen = {};
const failure = async (work) => {
  try {
    await work();
    return "none";
  } catch (error) {
    return error.constructor.name.replace(/(Error|Exception)$/, "");
  }
};

const sandbox = await Sandbox.create({ metadata: { of: "test" }, envs: { LEVEL: "box" }, timeoutMs: 120_000 });
seen.running = await sandbox.isRunning();
const live = [];
const ran = await sandbox.runCode("import os, sys\nprint('out')\nprint('err', file=sys.stderr)\nx = 6\nx * 7", {
  onStdout: (message) => live.push(message.line) });
seen.ran = [ran.logs.stdout.join(""), ran.logs.stderr.join(""), ran.text, ran.error ?? null, live.join(""), ran.executionCount];
seen.kept = (await sandbox.runCode("x + 1")).text;
const failed = await sandbox.runCode("1/0");
seen.failed = [failed.error.name, failed.error.value, failed.error.traceback.includes("ZeroDivisionError")];
const rich = await sandbox.runCode(
  "class R:\n  def _repr_html_(self): return '<b>1</b>'\n  def __repr__(self): return 'plain'\nR()");
seen.rich = [rich.results[0].html, rich.results[0].text, rich.results[0].isMainResult];
seen.env = (await sandbox.runCode("(os.environ['LEVEL'], os.environ['CELL'])", { envs: { CELL: "one" } })).text;
const context = await sandbox.createCodeContext({ language: "python" });
await sandbox.runCode("x = 100", { context });
seen.context = [(await sandbox.runCode("x", { context })).text, (await sandbox.runCode("x")).text];
await sandbox.restartCodeContext(context);
seen.restarted = (await sandbox.runCode("x", { context })).error.name;
await sandbox.removeCodeContext(context);
seen.languages = (await sandbox.listCodeContexts()).map((row) => row.language);
seen.bash = (await sandbox.runCode("echo $((3 * 4))", { language: "bash" })).logs.stdout.join("");
const written = await sandbox.files.write("dir/a.txt", "héllo");
seen.files = [written.path, await sandbox.files.read("/home/user/dir/a.txt"), await sandbox.files.exists("none"),
  (await sandbox.files.list("dir")).map((row) => [row.name, row.type, row.size]), await sandbox.files.makeDir("new"),
  (await sandbox.files.rename("dir/a.txt", "new/b.txt")).name];
await sandbox.files.remove("dir");
seen.missing = await failure(() => sandbox.files.read("dir/a.txt"));
seen.shared = (await sandbox.runCode("open('new/b.txt').read()")).text;
const command = await sandbox.commands.run("echo $LEVEL $MORE; pwd; echo bad >&2", { envs: { MORE: "more" } });
seen.command = [command.stdout, command.stderr, command.exitCode];
seen.exit = await failure(() => sandbox.commands.run("exit 3"));
const cat = await sandbox.commands.run("cat", { background: true, stdin: true });
await sandbox.commands.sendStdin(cat.pid, "typed\n");
await sandbox.commands.closeStdin(cat.pid);
seen.cat = (await cat.wait()).stdout;
const loop = await sandbox.commands.run("sleep 100", { background: true });
seen.list = (await sandbox.commands.list()).some((row) => row.pid === loop.pid);
seen.killed = [await loop.kill(), await failure(() => loop.wait())];
seen.slow = await failure(() => sandbox.commands.run("sleep 100", { timeoutMs: 300 }));
let screen = "";
const terminal = await sandbox.pty.create({ cols: 33, rows: 11, onData: (data) => { screen += new TextDecoder().decode(data); } });
await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; exit\n"));
await terminal.wait();
seen.pty = screen.includes("11 33");
await sandbox.setTimeout(60_000);
const again = await Sandbox.connect(sandbox.sandboxId);
seen.again = (await again.runCode("x")).text;
const pages = Sandbox.list({ query: { metadata: { of: "test" } } });
seen.listed = (await pages.nextItems()).map((row) => [row.sandboxId === sandbox.sandboxId, row.metadata]);
seen.info = (await sandbox.getInfo()).state;
const changes = [];
let enough;
const all = new Promise((resolve) => { enough = resolve; });
const watch = await sandbox.files.watchDir("new", (event) => {
  changes.push([event.type, event.name]);
  if (event.name === "last") enough();
}, { recursive: true });
await sandbox.commands.run("mkdir -p new/deep/er");
await sandbox.commands.run("cd new; echo x > deep/er/c.txt; chmod 600 b.txt; mv b.txt d.txt; rm d.txt; mkdir last");
await all;
await watch.stop();
seen.watched = changes.map((row) => row.join(" ")).sort().filter((row, i, rows) => row !== rows[i - 1]);
seen.unwatched = await failure(() => sandbox.files.watchDir("none", () => {}));
seen.paused = [await sandbox.pause(), await sandbox.pause(), (await sandbox.getInfo()).state, await sandbox.isRunning()];
const resumed = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 });
seen.resumed = [(await resumed.runCode("x")).text, (await resumed.getInfo()).state];
seen.ended = [await sandbox.kill(), await sandbox.isRunning(), await Sandbox.kill(sandbox.sandboxId)];
console.log(JSON.stringify(seen));
process.exit(0);
