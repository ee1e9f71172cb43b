// The types that openapi-typescript made, with nothing but `fetch`: BASE TOKEN.
import type { paths } from "./api.js";

type Create = paths["/v1/executions"]["post"];
type Body = Create["requestBody"]["content"]["application/json"];
type Done = Create["responses"][200]["content"]["application/json"];

const body: Body = { language: "python", code: "print(6 * 7)" };
const [base, token] = process.argv.slice(2);
const answer = await fetch(`${base}/v1/executions`, {
  method: "POST", body: JSON.stringify(body), headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
});
const done = (await answer.json()) as Done;
if ("stdout" in done) console.log(JSON.stringify(done.stdout));
