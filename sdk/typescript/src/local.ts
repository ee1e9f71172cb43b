import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fromBase64, join, linesOf } from "./bytes.js";
import { BinaryNotFoundError, errorOf, InternalError, InvalidRequestError, NotFoundError, SandboxError } from "./errors.js";
import type { BatchOptions, BatchResult, CallOptions, CellRequest, CompareRequest, ProfileRequest, RunEvent, RunRequest,
  RunResult, SessionInfo, StreamOptions, Transport, VerifyRequest, WorkKind, WorkRequest } from "./types.js";

const BINARY_ENV = "SANDBOX_RUN_BINARY";

interface Done {
  status: number | null;
  out: Uint8Array;
  err: string;
}

const COMMANDS: Record<WorkKind, string> = { tests: "test", builds: "build", golden: "golden" };

/** The command line for a project; fields that are options of the command have their names. */
function workWords(kind: WorkKind, { project, args, limits, deps, ...options }: WorkRequest): string[] {
  if (typeof project !== "string")
    throw new InvalidRequestError("give `project`, a directory of this machine; files are for a service", { code: "invalid" });
  const words = [COMMANDS[kind]];
  for (const [name, value] of Object.entries({ ...limits, ...options })) {
    if (value === false || value === undefined) continue;
    words.push(`--${name.replaceAll("_", "-")}`, ...(value === true ? [] : [String(value)]));
  }
  for (const dep of (deps as string[] | undefined) ?? []) words.push("--dep", dep);
  return [...words, project, ...(args ? ["--", ...(args as string[])] : [])];
}

/** The command line for code, which it reads from stdin, or for a project and `paths` in it. */
function verifyWords({ code: _code, files, language, project, paths, limits, deps, calls, skip, ...options }: VerifyRequest): string[] {
  if (files?.length)
    throw new InvalidRequestError("give `code`, or `project`, a directory of this machine; files are for a service", { code: "invalid" });
  const words = ["verify", ...(language ? ["--lang", String(language)] : []), ...(project ? ["--project", String(project)] : [])];
  for (const [name, value] of Object.entries({ ...limits, ...options })) {
    if (value === false || value === undefined) continue;
    words.push(`--${name.replaceAll("_", "-")}`, ...(value === true ? [] : [String(value)]));
  }
  for (const [option, list] of [["--dep", deps], ["--call", calls], ["--skip", skip]] as const)
    for (const item of (list as string[] | undefined) ?? []) words.push(option, item);
  return [...words, ...(paths ?? []).map((path) => (project ? `${String(project)}/${path}` : path))];
}

/** Options of a measurement. */
function howWords(how: Record<string, unknown>): string[] {
  return Object.entries(how).filter(([, value]) => value !== undefined && value !== false)
    .flatMap(([name, value]) => [`--${name.replaceAll("_", "-")}`, ...(value === true ? [] : [String(value)])]);
}

/** The sandbox-run of this machine: one process per call, no service. */
export class Local implements Transport {
  readonly binary: string;

  constructor(binary?: string, readonly docker?: string) {
    this.binary = binary ?? process.env[BINARY_ENV] ?? "sandbox-run";
  }

  /** The process, and how it ends; a spawn that fails rejects `ended`. */
  #start(words: string[], given: string | Uint8Array, { signal }: CallOptions): [ChildProcessWithoutNullStreams, Promise<number | null>] {
    signal?.throwIfAborted();
    const child = spawn(this.binary, words, { detached: true, env: this.#environment() });
    const stop = (): void => void child.kill("SIGTERM");
    signal?.addEventListener("abort", stop);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on("error", (error: NodeJS.ErrnoException) => reject(this.#notStarted(error)));
      child.on("close", resolve);
    }).finally(() => signal?.removeEventListener("abort", stop));
    child.stdin.on("error", () => {}); // it ended without reading; it says why
    child.stdin.end(given);
    return [child, ended];
  }

  #environment(): NodeJS.ProcessEnv {
    return this.docker ? { ...process.env, DOCKER_HOST: `unix://${this.docker}` } : process.env;
  }

  #notStarted(error: NodeJS.ErrnoException): SandboxError {
    if (error.code !== "ENOENT") return new InternalError(`cannot start '${this.binary}': ${error.message}`);
    return new BinaryNotFoundError(`there is no '${this.binary}' on this machine; install sandbox-run, name its file ` +
      `by ${BINARY_ENV}, or give baseUrl of a service`, { code: "not_found" });
  }

  async #call(words: string[], given: string | Uint8Array = "", options: CallOptions = {}): Promise<Done> {
    const [child, ended] = this.#start(words, given, options);
    const out: Uint8Array[] = [];
    const err: Uint8Array[] = [];
    child.stdout.on("data", (part: Uint8Array) => out.push(part));
    child.stderr.on("data", (part: Uint8Array) => err.push(part));
    const status = await ended;
    options.signal?.throwIfAborted();
    return { status, out: join(out), err: new TextDecoder().decode(join(err)).trim() };
  }

  async #ask(words: string[], given = "", options: CallOptions = {}): Promise<Record<string, unknown>> {
    const end = words.indexOf("--"); // what follows is not ours
    const at = end < 0 ? words.length : end;
    const done = await this.#call([...words.slice(0, at), "--json", ...words.slice(at)], given, options);
    try {
      return JSON.parse(new TextDecoder().decode(done.out)) as Record<string, unknown>;
    } catch {
      throw new InternalError(done.err || `${this.binary} ended with status ${done.status} and no answer`);
    }
  }

  async #checked(words: string[], given = "", options: CallOptions = {}): Promise<Record<string, unknown>> {
    const answer = await this.#ask(words, given, options);
    const error = answer["error"] as RunResult["error"];
    if (error) throw errorOf(error.message ?? "", error);
    return answer;
  }

  async *#lines(words: string[], given: string, options: CallOptions): AsyncGenerator<RunEvent> {
    const [child, ended] = this.#start([...words, "--stream"], given, options);
    let over = false;
    void ended.then(() => (over = true), () => (over = true));
    child.stderr.resume();
    try {
      for await (const line of linesOf(child.stdout)) yield JSON.parse(line) as RunEvent;
      await ended;
      options.signal?.throwIfAborted();
    } finally {
      if (!over) child.kill("SIGTERM"); // the reader left before the end
    }
  }

  async run(request: RunRequest, options: CallOptions): Promise<RunResult> {
    return (await this.#ask(["--request", "-"], JSON.stringify(request), options)) as RunResult;
  }

  stream(request: RunRequest, options: StreamOptions): AsyncIterable<RunEvent> {
    const every = options.metricsEvery ? ["--metrics-every", options.metricsEvery] : [];
    return this.#lines(["--request", "-", ...every], JSON.stringify(request), options);
  }

  verify(request: VerifyRequest, options: CallOptions): Promise<Record<string, unknown>> {
    return this.#checked(verifyWords(request), String(request.code ?? ""), options);
  }

  work(kind: WorkKind, request: WorkRequest, options: CallOptions): Promise<Record<string, unknown>> {
    return this.#checked(workWords(kind, request), "", options);
  }

  async batch(requests: RunRequest[], { jobs, ...options }: BatchOptions): Promise<BatchResult[]> {
    if (!requests.length) return [];
    const words = ["batch", "--json", ...(jobs === undefined ? [] : ["--jobs", String(jobs)]), "-"];
    const done = await this.#call(words, requests.map((one) => JSON.stringify(one) + "\n").join(""), options);
    const results = new TextDecoder().decode(done.out).split("\n").filter((line) => line.startsWith('{"item"'));
    if (results.length !== requests.length)
      throw new InternalError(done.err || `${this.binary} ended with status ${done.status} before the batch did`);
    return results.map((line) => JSON.parse(line) as BatchResult);
  }

  /** By files, because there are two programs and inputs beside them. */
  async compare({ a, b, inputs = [], ...how }: CompareRequest, options: CallOptions): Promise<Record<string, unknown>> {
    const folder = await mkdtemp(`${tmpdir()}/sandbox-run-`);
    const write = async (option: string, name: string, data: string | Uint8Array): Promise<string[]> => {
      await writeFile(`${folder}/${name}`, data);
      return [option, `${folder}/${name}`];
    };
    try {
      const words = ["compare", ...howWords(how), ...(await write("--request", "a", JSON.stringify(a))),
        ...(await write("--request", "b", JSON.stringify(b)))];
      for (const [number, one] of inputs.entries())
        words.push(...(await write("--input", String(number), one.encoding === "base64" ? fromBase64(one.content) : one.content)));
      const found = await this.#checked(words, "", options);
      const different = found["first_different_input"];
      if (typeof different === "string" && inputs.length)
        found["first_different_input"] = inputs[Number(different.slice(folder.length + 1))]?.name ?? "";
      return found;
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  profile({ repeat, warm_up, functions, ...request }: ProfileRequest, options: CallOptions): Promise<Record<string, unknown>> {
    return this.#checked(["profile", "--request", "-", ...howWords({ repeat, warm_up, functions })], JSON.stringify(request), options);
  }

  async languages(): Promise<Record<string, unknown>[]> {
    return (await this.#checked(["languages"]))["languages"] as Record<string, unknown>[];
  }

  async healthy(): Promise<boolean> {
    const backend = this.docker ? { backend: `docker:${this.docker}` } : {};
    return (await this.run({ args: ["true"], stdin: "", ...backend }, {})).success === true;
  }

  async readHostFile(path: string): Promise<Uint8Array> {
    return readFile(path);
  }

  async createSession(request: RunRequest): Promise<SessionInfo> {
    return (await this.#checked(["session", "create", "--request", "-"], JSON.stringify(request))) as SessionInfo;
  }

  async sessions(): Promise<SessionInfo[]> {
    return (await this.#checked(["session", "list"]))["sessions"] as SessionInfo[];
  }

  #cellWords(id: string, cell: CellRequest): string[] {
    return ["session", "exec", id, "-", ...(cell.language ? ["--lang", cell.language] : []),
      ...(cell.timeout === undefined ? [] : ["--timeout", String(cell.timeout)]),
      ...(cell.width === undefined ? [] : ["--width", String(cell.width)])];
  }

  async cell(id: string, cell: CellRequest, options: CallOptions): Promise<RunResult> {
    return (await this.#ask(this.#cellWords(id, cell), cell.code, options)) as RunResult;
  }

  streamCell(id: string, cell: CellRequest, options: CallOptions): AsyncIterable<RunEvent> {
    return this.#lines(this.#cellWords(id, cell), cell.code, options);
  }

  act(id: string, action: string, body: Record<string, string | number>): Promise<Record<string, unknown>> {
    return this.#checked(["session", action, id, ...Object.values(body).map(String)]);
  }

  async closeSession(id: string): Promise<void> {
    await this.#checked(["session", "close", id]);
  }

  async #file(words: string[], given?: Uint8Array): Promise<Uint8Array> {
    const done = await this.#call(words, given);
    if (done.status === 0) return done.out;
    const Kind = done.status === 127 ? NotFoundError : SandboxError;
    throw new Kind(done.err || `${this.binary} ended with status ${done.status}`);
  }

  async putFile(id: string, path: string, data: Uint8Array): Promise<void> {
    await this.#file(["session", "put", id, "-", path], data);
  }

  getFile(id: string, path: string): Promise<Uint8Array> {
    return this.#file(["session", "get", id, path]);
  }

  async listFiles(id: string): Promise<Record<string, unknown>[]> {
    return (await this.#checked(["session", "files", id]))["files"] as Record<string, unknown>[];
  }
}
