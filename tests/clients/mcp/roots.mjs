// A client with roots at /mcp: what its project is, as JSON on stdout.
// Usage: node roots.mjs CLIENT MODULES http://... TOKEN ROOT...
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [kind, modules, address, token, ...uris] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(createRequire(`${modules}/x`).resolve(name)));
const old = kind === "sdk";
const { Client } = await load(old ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const http = await load(old ? "@modelcontextprotocol/sdk/client/streamableHttp.js" : "@modelcontextprotocol/client");
const mode = kind === "pin" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
const client = new Client({ name: "roots", version: "1" }, { capabilities: { elicitation: {}, roots: {} }, ...mode });
let asked = 0;
const list = async () => { asked += 1; return { roots: uris.map((uri) => ({ uri })) }; };
const agree = async () => ({ action: "accept", content: { apply: true } });
if (old) {
  const types = await load("@modelcontextprotocol/sdk/types.js");
  client.setRequestHandler(types.ListRootsRequestSchema, list);
  client.setRequestHandler(types.ElicitRequestSchema, agree);
} else {
  client.setRequestHandler("roots/list", list);
  client.setRequestHandler("elicitation/create", agree);
}
await client.connect(new http.StreamableHTTPClientTransport(new URL(address),
  { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));

const call = (name, args) => client.callTool({ name, arguments: args });
const ran = await call("run_command", { command: "ls; echo new > made.txt" });
const seen = { stdout: ran.structuredContent.stdout, first: ran.content[0].text };
const listed = await call("list_files", {});
seen.files = listed.isError ? listed.content.at(-1).text : listed.structuredContent.files.map((file) => file.path);
if (ran.structuredContent.changes_id) {
  const applied = await call("apply_changes", { changes_id: ran.structuredContent.changes_id });
  seen.applied = applied.isError ? applied.content[0].text : applied.structuredContent.applied;
}
seen.asked = asked;
await client.close();
console.log(JSON.stringify(seen));
