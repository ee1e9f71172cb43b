import { join, linesOf } from "./bytes.js";
import { send, wait, type Answer } from "./carrier.js";
import { ConnectionError, errorOfProblem, InvalidRequestError, SandboxError } from "./errors.js";
import type { BatchOptions, BatchResult, CallOptions, CellRequest, CompareRequest, ProfileRequest, RunEvent, RunRequest,
  RunResult, SessionInfo, StreamOptions, Transport, VerifyRequest, WorkKind, WorkRequest } from "./types.js";

/** Which the service keeps alive while nothing happens. */
const EVENTS = "text/event-stream";
const DATA = "data:";
const RUNS = "/v1/executions";
/** Requests in one call of the service. */
const BATCH_MOST = 256;
const RETRIES = 2;
/** Seconds; a service that asks for more is busy, and the caller decides. */
const WAIT_MOST = 30;

interface Wish extends CallOptions {
  json?: unknown;
  data?: Uint8Array;
  accept?: string;
  headers?: Record<string, string>;
  /** Made twice it is as made once. */
  safe?: boolean;
}

/** Seconds until it may be made again. A 429 or 503 that says when to ask again has begun nothing. */
function waitBeforeRetry(error: unknown, safe: boolean, number: number): number | undefined {
  if (!(error instanceof SandboxError)) return undefined;
  const { status, retryAfter } = error;
  if (retryAfter !== undefined && (status === 429 || status === 503 || (safe && status === 409)))
    return retryAfter <= WAIT_MOST ? retryAfter : undefined;
  const lost = error instanceof ConnectionError;
  if ((lost && !error.sent) || (safe && (lost || status === 502 || status === 503 || status === 504)))
    return 0.2 * 2 ** number * (1 + Math.random());
  return undefined;
}

function newKey(): string {
  return Array.from({ length: 4 }, () => Math.random().toString(36).slice(2)).join("");
}

async function bytesOf(answer: Answer): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of answer.chunks) parts.push(part);
  return join(parts);
}

function parsed(bytes: Uint8Array): Record<string, unknown> {
  return bytes.length ? (JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>) : {};
}

/** The HTTP service. */
export class Http implements Transport {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(baseUrl: string, token?: string) {
    this.#base = baseUrl.replace(/\/+$/, "");
    this.#headers = token ? { Authorization: `Bearer ${token}` } : {};
  }

  #failed(error: unknown, signal: AbortSignal | undefined): unknown {
    signal?.throwIfAborted();
    if (error instanceof SandboxError) return error;
    const sent = (error as { unsent?: boolean }).unsent !== true;
    return new ConnectionError(`the service at ${this.#base} did not answer: ${String(error)}`, {}, sent);
  }

  async #once(method: string, path: string, wish: Wish): Promise<Answer> {
    const type = wish.json === undefined ? "application/octet-stream" : "application/json";
    const body = wish.json === undefined ? wish.data : new TextEncoder().encode(JSON.stringify(wish.json));
    const headers = { ...this.#headers, ...wish.headers, Accept: wish.accept ?? "application/json",
      ...(body === undefined ? {} : { "Content-Type": type }) };
    const answer = await send(this.#base + path, { method, headers, body, signal: wish.signal });
    if (answer.status < 400) return answer;
    const text = await bytesOf(answer);
    let problem: Record<string, unknown> = {};
    try {
      problem = parsed(text);
    } catch {
      // a proxy has other words
    }
    throw errorOfProblem(answer.status, problem, answer.header("retry-after"));
  }

  /** What nobody has begun, or what may be done twice, is tried again. */
  async #again<T>(attempt: () => Promise<T>, safe: boolean, signal: AbortSignal | undefined): Promise<T> {
    for (let number = 0; ; number++) {
      try {
        return await attempt();
      } catch (error) {
        const failure = this.#failed(error, signal);
        const seconds = waitBeforeRetry(failure, safe, number);
        if (seconds === undefined || number === RETRIES) throw failure;
        await wait(seconds, signal);
      }
    }
  }

  #bytes(method: string, path: string, wish: Wish = {}): Promise<Uint8Array> {
    const safe = method === "GET" || method === "PUT";
    return this.#again(async () => bytesOf(await this.#once(method, path, wish)), safe, wish.signal);
  }

  async #json(method: string, path: string, wish: Wish = {}): Promise<Record<string, unknown>> {
    return parsed(await this.#bytes(method, path, wish));
  }

  /** Its events; after a lost connection those that are left. A reader that leaves before the end ends the run. */
  async *#lines(path: string, json: unknown, { signal }: CallOptions): AsyncGenerator<RunEvent> {
    const abort = new AbortController();
    const stop = (): void => abort.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", stop);
    const safe = path === RUNS;
    const wish: Wish = { accept: EVENTS, signal: abort.signal, headers: safe ? { "Idempotency-Key": newKey() } : {} };
    let ask = (): Promise<Answer> => this.#once("POST", path, { ...wish, json });
    let location: string | null = null;
    let over = false;
    let tries = 0;
    try {
      while (!over) {
        try {
          const answer = await this.#again(ask, safe, abort.signal);
          location ??= answer.header("location");
          for await (const line of linesOf(answer.chunks)) {
            if (!line.startsWith(DATA)) continue;
            const event = JSON.parse(line.slice(DATA.length)) as RunEvent;
            over = event.type === "end";
            tries = 0;
            wish.headers = { "Last-Event-ID": String(event.seq) };
            yield event;
          }
        } catch (error) {
          const failure = this.#failed(error, abort.signal);
          if (location === null || !(failure instanceof ConnectionError)) throw failure;
        }
        if (!over && (location === null || tries++ === RETRIES))
          throw new ConnectionError("the connection was lost before the run had ended");
        const events = `${location}/events`;
        ask = () => this.#once("GET", events, wish);
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      abort.abort(); // the reader may have left before the end
      if (location !== null && !over) await this.#end(location);
    }
  }

  /** Ends a run whose reader has left; the service would wait for another reader. */
  async #end(location: string): Promise<void> {
    try {
      await bytesOf(await this.#once("DELETE", location, {}));
    } catch {
      // it has ended, or the service ends it when nobody reads
    }
  }

  /** By its events, which a lost connection and a proxy that waits for a minute only do not end. */
  async run(request: RunRequest, options: CallOptions): Promise<RunResult> {
    let result: RunResult | undefined;
    for await (const event of this.#lines(RUNS, request, options)) result = event.result ?? result;
    if (!result) throw new ConnectionError("the stream ended before the run did");
    return result;
  }

  /** Without samples: the service sends none. */
  stream(request: RunRequest, options: StreamOptions): AsyncIterable<RunEvent> {
    return this.#lines(RUNS, request, options);
  }

  verify(request: VerifyRequest, options: CallOptions): Promise<Record<string, unknown>> {
    return this.#json("POST", "/v1/verify", { json: request, ...options });
  }

  work(kind: WorkKind, request: WorkRequest, options: CallOptions): Promise<Record<string, unknown>> {
    return this.#json("POST", `/v1/${kind}`, { json: request, ...options });
  }

  /** In parts; the service runs as many at a time as it has room for. */
  async batch(requests: RunRequest[], { signal }: BatchOptions): Promise<BatchResult[]> {
    const results: BatchResult[] = [];
    for (let at = 0; at < requests.length; at += BATCH_MOST) {
      const json = { requests: requests.slice(at, at + BATCH_MOST) };
      results.push(...((await this.#json("POST", "/v1/batch", { json, signal }))["results"] as BatchResult[]));
    }
    return results;
  }

  compare(request: CompareRequest, options: CallOptions): Promise<Record<string, unknown>> {
    return this.#json("POST", "/v1/comparisons", { json: request, ...options });
  }

  profile(request: ProfileRequest, options: CallOptions): Promise<Record<string, unknown>> {
    return this.#json("POST", "/v1/profiles", { json: request, ...options });
  }

  async languages(): Promise<Record<string, unknown>[]> {
    return (await this.#json("GET", "/v1/languages"))["languages"] as Record<string, unknown>[];
  }

  async healthy(): Promise<boolean> {
    await bytesOf(await this.#once("GET", "/readyz", {}));
    return true;
  }

  readHostFile(path: string): Promise<Uint8Array> {
    throw new InvalidRequestError(`hostPath '${path}' is only for a client on the same machine; give its content`,
      { code: "invalid" });
  }

  async createSession(request: RunRequest): Promise<SessionInfo> {
    return (await this.#json("POST", "/v1/sessions", { json: request })) as SessionInfo;
  }

  async sessions(): Promise<SessionInfo[]> {
    return (await this.#json("GET", "/v1/sessions"))["sessions"] as SessionInfo[];
  }

  async cell(id: string, cell: CellRequest, options: CallOptions): Promise<RunResult> {
    return (await this.#json("POST", session(id, "cells"), { json: cellBody(cell), ...options })) as RunResult;
  }

  streamCell(id: string, cell: CellRequest, options: CallOptions): AsyncIterable<RunEvent> {
    return this.#lines(session(id, "cells"), cellBody(cell), options);
  }

  act(id: string, action: string, body: Record<string, string | number>): Promise<Record<string, unknown>> {
    return this.#json("POST", session(id, action), { json: body });
  }

  async closeSession(id: string): Promise<void> {
    await this.#json("DELETE", session(id));
  }

  async putFile(id: string, path: string, data: Uint8Array): Promise<void> {
    await this.#json("PUT", session(id, "files", path), { data });
  }

  async getFile(id: string, path: string): Promise<Uint8Array> {
    return this.#bytes("GET", session(id, "files", path), { accept: "*/*" });
  }

  async listFiles(id: string): Promise<Record<string, unknown>[]> {
    return (await this.#json("GET", session(id, "files")))["files"] as Record<string, unknown>[];
  }
}

/** Seconds, or a text with a unit: "500ms", "5s", "2m", "1h". */
function milliseconds(duration: string | number): number {
  const factors: Record<string, number> = { ms: 1, s: 1000, m: 60000, h: 3600000, "": 1000 };
  const [, count, unit] = /^([\d.]+)(ms|s|m|h|)$/.exec(String(duration)) ?? [];
  if (count === undefined || unit === undefined)
    throw new InvalidRequestError(`'${duration}' is no duration; write it as 1.5, 500ms or 5s`, { code: "invalid" });
  return Math.round(Number(count) * (factors[unit] ?? 1000));
}

function cellBody(cell: CellRequest): Record<string, unknown> {
  const { timeout, ...rest } = cell;
  return timeout === undefined ? rest : { ...rest, timeout_ms: milliseconds(timeout) };
}

function session(...parts: string[]): string {
  return `/v1/sessions/${parts.map((part) => part.split("/").map(encodeURIComponent).join("/")).join("/")}`;
}
