import type { Schemas } from "./api.js";

/** Limits, environment and place of one call of `execute`. */
export interface SandboxConfig {
  /** An OCI image whose files the command sees. */
  image?: string;
  /** Milliseconds; 300000 without it. */
  timeout?: number;
  /** CPUs at a time, as "1" or "0.5"; "1" without it. */
  cpuLimit?: string;
  /** As "512m", "2g" or "1tb"; "2g" without it. */
  memoryLimit?: string;
  /** Where the command starts; "/work" without it. */
  workdir?: string;
  /** `true` is the whole network, `false` none, a word one of the modes, "bridge" what Docker calls so; without it a loopback only. */
  networkMode?: boolean | NetworkMode | "bridge";
  /** The same as `networkMode`. */
  network?: boolean | NetworkMode | "bridge";
  /** Only the work directory and /tmp can be written to. */
  readOnly?: boolean;
  env?: Record<string, string>;
}

export type NetworkMode = NonNullable<Schemas["request"]["network"]>;

/** A file that the command finds; `path` is relative to the work directory or below /work. */
export interface MountedFile {
  path: string;
  content?: string | Uint8Array;
  /** A file of this machine; only where the client shares it. */
  hostPath?: string;
  mode?: number;
}

export interface ResourceUsage {
  cpuUsagePercent: number;
  /** The last sample before the end; the peak when the command was shorter than a sample. */
  memoryUsageMb: number;
  maxMemoryMb: number;
}

export type ResourceStats = ResourceUsage;

export interface ExecutionResult {
  /** As a shell has it: 124 after a time limit, 128 + n after signal n. */
  exitCode: number;
  stdout: string;
  stderr: string;
  /** Milliseconds. */
  duration: number;
  resourceUsage?: ResourceUsage;
}

export interface ISandboxExecutor {
  execute(command: string, config: SandboxConfig, files?: MountedFile[]): Promise<ExecutionResult>;
  healthCheck(): Promise<boolean>;
}

/** The fields of docs/request.md. */
export type RunRequest = Schemas["request"] & { [field: string]: unknown };

export type RequestFile = NonNullable<Schemas["request"]["files"]>[number];

export type Outcome = Schemas["result_result"]["outcome"];

export type Metrics = Schemas["result_metrics"];

export type MimeBundle = Record<string, unknown>;

/** The fields of docs/result.md; `error` says why nothing ran. */
export type RunResult = Schemas["result_result"] & { error?: Schemas["result_error"]["error"] };

/** One line of docs/events.md. */
export interface RunEvent {
  type: Schemas["event"]["type"];
  seq: number;
  time_ms: number;
  data?: string;
  data_b64?: string;
  metrics?: Record<string, number | null>;
  result?: RunResult;
  [field: string]: unknown;
}

export interface CellRequest {
  code: string;
  language?: string;
  timeout?: string | number;
  /** Tables and long values fit into so many columns. */
  width?: number;
}

export type SessionInfo = Schemas["session"];

export interface CallOptions {
  /** Ends what runs. */
  signal?: AbortSignal;
}

export interface StreamOptions extends CallOptions {
  /** A `metrics` event so often, as in "1s". */
  metricsEvery?: string;
}

export interface ConnectOptions {
  /** The HTTP service; without it the sandbox-run of this machine is used. */
  baseUrl?: string;
  token?: string;
  /** The file of the local program; else SANDBOX_RUN_BINARY, else "sandbox-run" of the PATH. */
  binary?: string;
  /** Each sandbox of `execute` is made in a container of the Docker daemon of this socket, whose images come first. */
  dockerSocket?: string;
}

/** How calls reach sandbox-run: by a process, or over HTTP. */
export type WorkKind = "tests" | "builds" | "golden";

/** Work on a project: a directory of this machine, or what a service takes: files, a workspace, a root. */
export type WorkRequest = RunRequest & Schemas["test_request"] & Schemas["build_request"] &
  Partial<Schemas["golden_request"]>;
export type TestResult = RunResult & Schemas["test"];
export type BuildResult = RunResult & Schemas["build"];
export type GoldenResult = Schemas["golden"];

/** Code, files for a service, or a project; `calls` are lines that have to be true. */
export type VerifyRequest = RunRequest & Schemas["verify_request"];
export type VerifyResult = Schemas["verify"];

/** Two programs as requests; `inputs` are what both read from stdin. */
export interface CompareRequest extends Pick<Schemas["comparison_request"], "inputs" | "repeat" | "warm_up" | "checker" | "tolerance"> {
  a: RunRequest;
  b: RunRequest;
}
export type CompareResult = Schemas["comparison"];

/** `functions`: also say which functions use the time. */
export type ProfileRequest = RunRequest & Schemas["profile_request"];
export type ProfileResult = Schemas["profile"];

/** One of many: `error` says why it did not run. */
export type BatchResult = RunResult;

export interface BatchOptions extends CallOptions {
  /** How many run at a time on this machine; a service has its own number. */
  jobs?: number;
}

export interface Transport {
  batch(requests: RunRequest[], options: BatchOptions): Promise<BatchResult[]>;
  compare(request: CompareRequest, options: CallOptions): Promise<Record<string, unknown>>;
  profile(request: ProfileRequest, options: CallOptions): Promise<Record<string, unknown>>;
  verify(request: VerifyRequest, options: CallOptions): Promise<Record<string, unknown>>;
  work(kind: WorkKind, request: WorkRequest, options: CallOptions): Promise<Record<string, unknown>>;
  run(request: RunRequest, options: CallOptions): Promise<RunResult>;
  stream(request: RunRequest, options: StreamOptions): AsyncIterable<RunEvent>;
  languages(): Promise<Record<string, unknown>[]>;
  healthy(): Promise<boolean>;
  readHostFile(path: string): Promise<Uint8Array>;
  createSession(request: RunRequest): Promise<SessionInfo>;
  sessions(): Promise<SessionInfo[]>;
  cell(id: string, cell: CellRequest, options: CallOptions): Promise<RunResult>;
  streamCell(id: string, cell: CellRequest, options: CallOptions): AsyncIterable<RunEvent>;
  act(id: string, action: string, body: Record<string, string | number>): Promise<Record<string, unknown>>;
  closeSession(id: string): Promise<void>;
  putFile(id: string, path: string, data: Uint8Array): Promise<void>;
  getFile(id: string, path: string): Promise<Uint8Array>;
  listFiles(id: string): Promise<Record<string, unknown>[]>;
}
