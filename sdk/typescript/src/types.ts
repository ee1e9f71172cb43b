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
  /** `true` is the whole network, `false` none, a word one of the modes; without it a loopback only. */
  network?: boolean | NetworkMode;
  env?: Record<string, string>;
}

export type NetworkMode = "none" | "localhost" | "allow" | "full";

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
export interface RunRequest {
  language?: string;
  code?: string;
  args?: string[];
  files?: RequestFile[];
  stdin?: string;
  env?: Record<string, string>;
  limits?: Record<string, string | number | null>;
  network?: NetworkMode;
  allow_hosts?: string[];
  deps?: string[];
  [field: string]: unknown;
}

export interface RequestFile {
  path: string;
  content: string;
  encoding?: "utf-8" | "base64";
  executable?: boolean;
}

export type Outcome =
  | "exited" | "signaled" | "timeout" | "cpu_limit" | "memory_limit" | "output_limit" | "disk_limit"
  | "process_limit" | "denied" | "compile_failed" | "cancelled" | "internal_error";

export interface Metrics {
  wall_ms: number;
  cpu_percent: number | null;
  peak_memory_bytes: number | null;
  startup_ms: number | null;
  [figure: string]: number | null;
}

export type MimeBundle = Record<string, unknown>;

/** The fields of docs/result.md that most callers need; the others are there under their names. */
export interface RunResult {
  id: string;
  success: boolean;
  outcome: Outcome;
  exit_code: number | null;
  signal: number | null;
  stdout: string;
  stderr: string;
  stdout_encoding: "utf-8" | "base64";
  stderr_encoding: "utf-8" | "base64";
  metrics: Metrics;
  denials: { kind: string; target: string; rule: string; remedy: string | null }[];
  diagnosis: { type: string; message: string; file?: string | null; line?: number | null } | null;
  cell?: number;
  display?: MimeBundle[];
  error?: { code: string; stage: string; message: string; errno: number | null };
  [field: string]: unknown;
}

/** One line of docs/events.md. */
export interface RunEvent {
  type: "start" | "stage" | "queue" | "progress" | "stdout" | "stderr" | "denial" | "metrics" | "end";
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
}

export interface SessionInfo {
  id: string;
  lang: string;
  state: string;
  [field: string]: unknown;
}

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
}

/** How calls reach sandbox-run: by a process, or over HTTP. */
export interface Transport {
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
