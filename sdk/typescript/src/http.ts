import { linesOf } from "./bytes.js";
import { ConnectionError, errorOfProblem, InvalidRequestError } from "./errors.js";
import type { BatchOptions, BatchResult, CallOptions, CellRequest, CompareRequest, ProfileRequest, RunEvent, RunRequest,
  RunResult, SessionInfo, StreamOptions, Transport, VerifyRequest, WorkKind, WorkRequest } from "./types.js";

const NDJSON = "application/x-ndjson";
/** Requests in one call of the service. */
const BATCH_MOST = 256;

interface Sent extends CallOptions {
  json?: unknown;
  data?: Uint8Array;
  accept?: string;
}

/** The HTTP service. */
export class Http implements Transport {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor(baseUrl: string, token?: string) {
    this.#base = baseUrl.replace(/\/+$/, "");
    this.#headers = token ? { Authorization: `Bearer ${token}` } : {};
  }

  async #send(method: string, path: string, sent: Sent = {}): Promise<Response> {
    const type = sent.json === undefined ? "application/octet-stream" : "application/json";
    const body = sent.json === undefined ? sent.data : JSON.stringify(sent.json);
    let response: Response;
    try {
      response = await fetch(this.#base + path, {
        method,
        headers: { ...this.#headers, Accept: sent.accept ?? "application/json", ...(body === undefined ? {} : { "Content-Type": type }) },
        body: body as BodyInit | undefined,
        signal: sent.signal,
      });
    } catch (error) {
      sent.signal?.throwIfAborted();
      throw new ConnectionError(`the service at ${this.#base} did not answer: ${String(error)}`);
    }
    if (response.status < 400) return response;
    const problem = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    throw errorOfProblem(response.status, problem, response.headers.get("retry-after"));
  }

  async #json(method: string, path: string, sent: Sent = {}): Promise<Record<string, unknown>> {
    const text = await (await this.#send(method, path, sent)).text();
    return text ? (JSON.parse(text) as Record<string, unknown>) : {};
  }

  async *#lines(path: string, json: unknown, options: CallOptions): AsyncGenerator<RunEvent> {
    const abort = new AbortController();
    const stop = (): void => abort.abort(options.signal?.reason);
    options.signal?.throwIfAborted();
    options.signal?.addEventListener("abort", stop);
    try {
      const response = await this.#send("POST", path, { json, accept: NDJSON, signal: abort.signal });
      for await (const line of linesOf(chunksOf(response))) yield JSON.parse(line) as RunEvent;
    } finally {
      options.signal?.removeEventListener("abort", stop);
      abort.abort(); // the reader may have left before the end
    }
  }

  async run(request: RunRequest, options: CallOptions): Promise<RunResult> {
    return (await this.#json("POST", "/v1/executions", { json: request, ...options })) as RunResult;
  }

  /** Without samples: the service sends none. */
  stream(request: RunRequest, options: StreamOptions): AsyncIterable<RunEvent> {
    return this.#lines("/v1/executions", request, options);
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
    return (await this.#send("GET", "/readyz")).ok;
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
    const response = await this.#send("GET", session(id, "files", path), { accept: "*/*" });
    return new Uint8Array(await response.arrayBuffer());
  }

  async listFiles(id: string): Promise<Record<string, unknown>[]> {
    return (await this.#json("GET", session(id, "files")))["files"] as Record<string, unknown>[];
  }
}

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) yield part.value;
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
