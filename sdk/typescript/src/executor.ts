import { join } from "./bytes.js";
import { ConnectionError } from "./errors.js";
import { Http } from "./http.js";
import { checked, dataOf, executeRequest, statusOf } from "./request.js";
import { Session } from "./session.js";
import type { BatchOptions, BatchResult, BuildResult, CallOptions, CompareRequest, CompareResult, ConnectOptions,
  ExecutionResult, GoldenResult, ISandboxExecutor, MountedFile, ProfileRequest, ProfileResult, RunEvent, RunRequest,
  RunResult, SandboxConfig, SessionInfo, StreamOptions, TestResult, Transport, VerifyRequest, VerifyResult,
  WorkRequest } from "./types.js";

const MIB = 1024 * 1024;
/** How often the memory is sampled that `execute` reports. */
const SAMPLE_EVERY = "250ms";

export async function transportOf(options: ConnectOptions): Promise<Transport> {
  if (options.baseUrl) return new Http(options.baseUrl, options.token);
  const { Local } = await import("./local.js"); // needs Node, so that browsers never load it
  return new Local(options.binary, options.dockerSocket);
}

/** Runs commands and programs: by the sandbox-run of this machine, or with `baseUrl` by a service. */
export class SandboxExecutor implements ISandboxExecutor {
  readonly #options: ConnectOptions;
  #transport: Promise<Transport> | undefined;

  constructor(options: ConnectOptions = {}) {
    this.#options = options;
  }

  #connect(): Promise<Transport> {
    return (this.#transport ??= transportOf(this.#options));
  }

  /** Runs a line of shell. A command that fails or is killed is a result; what could not run is thrown. */
  async execute(command: string, config: SandboxConfig = {}, files: MountedFile[] = [],
                options: CallOptions = {}): Promise<ExecutionResult> {
    const transport = await this.#connect();
    const { dockerSocket } = this.#options;
    const request = { ...(await executeRequest(command, config, files, transport)),
      ...(dockerSocket ? { backend: `docker:${dockerSocket}` } : {}) };
    return collect(transport.stream(request, { ...options, metricsEvery: SAMPLE_EVERY }));
  }

  /** True when a program can be run now. */
  async healthCheck(): Promise<boolean> {
    try {
      return await (await this.#connect()).healthy();
    } catch {
      return false;
    }
  }

  /** Runs a program and gives its result, also when it failed or was killed. */
  async run(request: RunRequest, options: CallOptions = {}): Promise<RunResult> {
    return checked(await (await this.#connect()).run({ stdin: "", ...request }, options));
  }

  /** The same, event by event, each when it happens. Leaving the loop ends the run. */
  async *stream(request: RunRequest, options: StreamOptions = {}): AsyncGenerator<RunEvent> {
    for await (const event of (await this.#connect()).stream({ stdin: "", ...request }, options)) {
      if (event.result) checked(event.result);
      yield event;
    }
  }

  /** Runs a project's tests; `cases` of the result has each. */
  async test(request: WorkRequest, options: CallOptions = {}): Promise<TestResult> {
    return checked((await (await this.#connect()).work("tests", request, options)) as TestResult) as TestResult;
  }

  /** Builds a project: `messages` and `artifacts`. */
  async build(request: WorkRequest, options: CallOptions = {}): Promise<BuildResult> {
    return checked((await (await this.#connect()).work("builds", request, options)) as BuildResult) as BuildResult;
  }

  /** Runs golden cases: those of a directory of this machine, or of a service those of `cases`. */
  async golden(request: WorkRequest, options: CallOptions = {}): Promise<GoldenResult> {
    return (await (await this.#connect()).work("golden", request, options)) as GoldenResult;
  }

  /** Checks code, or a project: `verdict`, `reasons`, `checks`. */
  async verify(request: VerifyRequest, options: CallOptions = {}): Promise<VerifyResult> {
    return (await (await this.#connect()).verify(request, options)) as VerifyResult;
  }

  /** Runs many programs; the results are in the same order, and `error` of one says why it did not run. */
  async batch(requests: RunRequest[], options: BatchOptions = {}): Promise<BatchResult[]> {
    return (await this.#connect()).batch(requests.map((one) => ({ stdin: "", ...one })), options);
  }

  /** Runs two programs with the same inputs: `verdict`, `same_output`, and the figures of `a` and `b`. */
  async compare(request: CompareRequest, options: CallOptions = {}): Promise<CompareResult> {
    return (await (await this.#connect()).compare(request, options)) as CompareResult;
  }

  /** Runs a program again and again: `wall_ms`, `cpu_ms`, `peak_memory_bytes`, `over_time`. */
  async profile(request: ProfileRequest, options: CallOptions = {}): Promise<ProfileResult> {
    return (await (await this.#connect()).profile({ stdin: "", ...request }, options)) as ProfileResult;
  }

  /** A sandbox that stays alive: names and files stay from one cell to the next. */
  async session(language: string, request: RunRequest = {}): Promise<Session> {
    const transport = await this.#connect();
    return new Session(transport, await transport.createSession({ ...request, language }));
  }

  async sessions(): Promise<SessionInfo[]> {
    return (await this.#connect()).sessions();
  }

  async languages(): Promise<Record<string, unknown>[]> {
    return (await this.#connect()).languages();
  }
}

/** The same. With a socket each sandbox is made in a container of the Docker daemon that listens there, and images are
 * first looked for in that daemon; without it no daemon is needed. */
export class DockerSandboxExecutor extends SandboxExecutor {
  constructor(socketPath?: string) {
    super({ dockerSocket: socketPath });
  }
}

async function collect(events: AsyncIterable<RunEvent>): Promise<ExecutionResult> {
  const parts: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
  let memory = 0;
  let result: RunResult | undefined;
  for await (const event of events) {
    if (event.type === "stdout" || event.type === "stderr") parts[event.type].push(dataOf(event));
    memory = event.metrics?.["memory_bytes"] ?? memory;
    if (event.result) result = checked(event.result);
  }
  if (!result) throw new ConnectionError("the stream ended before the run did");
  const peak = result.metrics.peak_memory_bytes ?? memory;
  const text = (name: "stdout" | "stderr"): string => new TextDecoder().decode(join(parts[name]));
  return {
    exitCode: statusOf(result),
    stdout: text("stdout"),
    stderr: text("stderr"),
    duration: result.metrics.wall_ms,
    resourceUsage: {
      cpuUsagePercent: result.metrics.cpu_percent ?? 0,
      memoryUsageMb: (memory || peak) / MIB,
      maxMemoryMb: peak / MIB,
    },
  };
}
