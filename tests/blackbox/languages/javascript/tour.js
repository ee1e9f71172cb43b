// A walk through the language and Node's own modules; every line of its output is known.
const assert = require("node:assert");
const { AsyncLocalStorage } = require("node:async_hooks");
const { execFileSync } = require("node:child_process");
const crypto = require("node:crypto");
const { EventEmitter, once } = require("node:events");
const path = require("node:path");
const { pipeline } = require("node:stream/promises");
const { Readable, Transform } = require("node:stream");
const { promisify, inspect } = require("node:util");
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");
const zlib = require("node:zlib");

class Shape {
  #name;
  static made = 0;
  constructor(name) { this.#name = name; Shape.made++; }
  get name() { return this.#name; }
  *[Symbol.iterator]() { yield* this.#name; }
}

function* naturals() { for (let n = 0; ; n++) yield n; }

async function inWorker(value) {
  const worker = new Worker(__filename, { workerData: value });
  const [answer] = await once(worker, "message");
  return answer;
}

async function main() {
  const words = "the quick brown fox jumps over the lazy dog the end".split(" ");
  const counts = words.reduce((map, word) => map.set(word, (map.get(word) ?? 0) + 1), new Map());
  console.log([...counts].sort(([, a], [, b]) => b - a)[0], new Set(words).size);
  const { a, ...rest } = { a: 1, b: 2, c: [3, , 5] };
  console.log(a, rest, [3, 1, 10, 2].sort(), [3, 1, 10, 2].sort((x, y) => x - y));
  console.log([1, [2, [3, [4]]]].flat(Infinity), Object.fromEntries([["k", "v"]]), "abc".at(-1));
  console.log(2n ** 100n, 0.1 + 0.2, Number.MAX_SAFE_INTEGER, parseInt("ff", 16), (255).toString(2));
  console.log(new Date(Date.UTC(2024, 1, 29, 23)).toISOString(), new Date("2024-03-01") > new Date(0));
  console.log(JSON.stringify({ b: [1, 2.5, null, true], a: "ü", skip: undefined }));
  console.log("user@host".replace(/(?<user>\w+)@(?<host>\w+)/, "$<host> at $<user>"),
    [..."a1b22c333".matchAll(/\d+/g)].map((match) => match[0]));
  console.log(crypto.createHash("sha256").update("abc").digest("hex").slice(0, 16),
    Buffer.from("abc").toString("base64"), zlib.gunzipSync(zlib.gzipSync("squeezed")).toString());
  const shape = new Shape("box");
  console.log(shape.name, [...shape], Shape.made, inspect(shape), typeof structuredClone);
  const taken = [];
  for (const n of naturals()) { if (n > 4) break; taken.push(n ** 2); }
  console.log(taken, new Proxy({}, { get: (_, key) => `no ${key}` }).such);
  console.log(await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("no"))])
    .then((all) => all.map((one) => one.status)));
  await promisify(setTimeout)(5);
  console.log(await Promise.race([promisify(setTimeout)(1000, "slow"), "fast"]));
  const emitter = new EventEmitter();
  setImmediate(() => emitter.emit("ready", 42));
  console.log((await once(emitter, "ready"))[0]);
  const upper = new Transform({ transform(chunk, _, done) { done(null, `${chunk}`.toUpperCase()); } });
  const out = [];
  await pipeline(Readable.from(["stream", "ed"]), upper, async (source) => {
    for await (const chunk of source) out.push(`${chunk}`);
  });
  console.log(out.join(""), path.posix.relative("/a/b", "/a/c/d"));
  console.log(await Promise.all([1, 2, 3].map(inWorker)));
  console.log(execFileSync(process.execPath, ["-p", "6 * 7"], { encoding: "utf8" }).trim());
  const store = new AsyncLocalStorage();
  console.log(await store.run("kept", async () => { await null; return store.getStore(); }));
  console.log(new Intl.NumberFormat("de-DE").format(1234567.5), ["ä", "z", "a"].sort(Intl.Collator("de").compare));
  assert.throws(() => null.field, TypeError);
  process.exit(0);
}

if (isMainThread) main();
else parentPort.postMessage(workerData * 100);
