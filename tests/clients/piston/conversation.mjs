// What a program does with piston-client, as JSON.  Usage: conversation.mjs NODE_MODULES SERVER
import { pathToFileURL } from "node:url";

const [modules, server] = process.argv.slice(2);
const { default: piston } = await import(pathToFileURL(`${modules}/piston-client/index.js`));
const client = piston({ server });
const seen = {};

const runtimes = await client.runtimes();
seen.python = runtimes.filter((row) => row.language === "python").map((row) => row.aliases.includes("py"))[0];
const hello = await client.execute("python", "import sys\nprint(sys.argv[1:], sys.stdin.read())", { stdin: "in" });
seen.hello = [hello.language, hello.run.stdout, hello.run.code, hello.run.signal, "compile" in hello];
const failed = await client.execute({ language: "python", files: [{ name: "a.py", content: "import b\nb.go()" },
  { name: "b.py", content: "import sys\ndef go():\n  print('x', file=sys.stderr)\n  sys.exit(7)" }] });
seen.failed = [failed.run.stderr, failed.run.output, failed.run.code, failed.run.status];
const slow = await client.execute("python", "while True: pass", { runTimeout: 300 });
seen.slow = [slow.run.status, slow.run.signal, slow.run.code];
const c = await client.execute("c", "#include <stdio.h>\nint main(void){puts(\"c\");return 0;}");
seen.c = [c.compile.code, c.run.stdout];
const wrong = await client.execute("c", "int main(void){", {});
seen.wrong = [wrong.compile.code, wrong.run.code, wrong.run.stderr.includes("error")];
const nothing = await client.execute("python", "pass", { version: "1.x" });
seen.nothing = nothing.message;
console.log(JSON.stringify(seen));
