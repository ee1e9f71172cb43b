// What every client does with the server: the same steps, and what came back, as JSON on stdout.
// Usage: node conversation.mjs CLIENT MODULES PROGRAM [OPTION...], or CLIENT MODULES http://... TOKEN
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [kind, modules, program, ...options] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(createRequire(`${modules}/x`).resolve(name)));

// Over HTTP there is no project.
const overHttp = program.startsWith("http");

async function transport(old) {
  if (overHttp) {
    const http = await load(old ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client");
    return new http.StreamableHTTPClientTransport(new URL(program),
      { requestInit: { headers: { Authorization: `Bearer ${options[0]}` } } });
  }
  const stdio = await load(old ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio");
  return new stdio.StdioClientTransport({ command: program, args: ["mcp", ...options], env: process.env });
}

async function connect() {
  const about = { name: "conversation", version: "1" };
  const capabilities = { elicitation: {}, roots: {} };
  const old = kind === "sdk";
  const { Client } = await load(old ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
  const mode = { legacy: {}, auto: { versionNegotiation: { mode: "auto" } },
    pin: { versionNegotiation: { mode: { pin: "2026-07-28" } } } }[kind] ?? {};
  const client = new Client(about, { capabilities, ...mode });
  const answer = async (request) => ({ action: "accept", content: { apply: request.params.message.length > 0 } });
  if (old) {
    const types = await load("@modelcontextprotocol/sdk/types.js");
    client.setRequestHandler(types.ElicitRequestSchema, answer);
  } else {
    client.setRequestHandler("elicitation/create", answer);
  }
  await client.connect(await transport(old));
  return client;
}

const client = await connect();
const seen = {};
const call = async (name, args, extra) => (await client.callTool({ name, arguments: args }, ...(extra ?? [])));
const content = (result) => result.structuredContent;

seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
let progress = 0;
const onprogress = () => { progress += 1; };
const ran = await call("run_code", { language: "python", code: "print(6 * 7)" },
  kind === "sdk" ? [undefined, { onprogress }] : [{ onprogress }]);
seen.stdout = content(ran).stdout;
seen.blocks = ran.content.map((block) => block.type);
const failed = await call("run_code", { language: "python", code: "1/0" });
seen.failed = [content(failed).exit_code, failed.isError, content(failed).diagnosis.slice(0, 17)];
const refused = await call("run_code", { language: "python", code: "1", timeout_seconds: 10000 });
seen.refused = [refused.isError, refused.content[0].text.slice(0, 22)];
const { session_id } = content(await call("create_session", { language: "python" }));
await call("run_cell", { session_id, code: "x = 20" });
seen.cell = content(await call("run_cell", { session_id, code: "x + 1" })).display;
seen.closed = content(await call("close_session", { session_id }));
delete seen.closed.changes_id;
const left = await call("run_command", { command: "echo new > made.txt" });
const changes_id = content(left).changes_id;
if (overHttp) {
  seen.made = content(left).files.map((file) => file.path);
} else {
  const { diff } = content(await call("show_changes", { changes_id }));
  seen.diff = diff.split("\n").filter((line) => line.startsWith("+"));
  seen.applied = content(await call("apply_changes", { changes_id })).applied;
}
const [first] = (await client.listResources()).resources;
seen.resource = (await client.readResource({ uri: first.uri })).contents[0].text;
seen.unknown = await call("no_such_tool", {}).then(() => "result", (error) => error.code);
seen.progress = progress > 0;
seen.version = kind === "sdk" ? "2025-11-25" : client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify(seen));
