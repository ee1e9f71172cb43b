import { fromBase64, toBase64 } from "./bytes.js";
import { errorOf, InvalidRequestError } from "./errors.js";
import type { MountedFile, RequestFile, RunEvent, RunRequest, RunResult, SandboxConfig, Transport } from "./types.js";

const WORK = "/work";

export function networkOf({ networkMode, network = networkMode }: SandboxConfig): RunRequest["network"] {
  if (typeof network === "boolean") return network ? "full" : "none";
  return network === "bridge" ? "full" : network ?? "localhost";
}

function normal(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Where a file lies; a relative path begins at the work directory. What is in /work stays relative. */
function placeOf(path: string, workdir: string): string {
  const full = normal(path.startsWith("/") ? path : `${workdir}/${path}`);
  if (full === workdir || full === "/")
    throw new InvalidRequestError(`'${path}' is no path of a file; give one relative to the work directory`, { code: "invalid" });
  return full.startsWith(`${WORK}/`) ? full.slice(WORK.length + 1) : full;
}

function encode(content: string | Uint8Array): Pick<RequestFile, "content" | "encoding"> {
  return typeof content === "string" ? { content } : { content: toBase64(content), encoding: "base64" };
}

async function fileOf(file: MountedFile, workdir: string, transport: Transport): Promise<RequestFile> {
  const content = file.content ?? (file.hostPath === undefined ? "" : await transport.readHostFile(file.hostPath));
  const executable = ((file.mode ?? 0) & 0o111) !== 0;
  return { path: placeOf(file.path, workdir), ...encode(content), ...(executable ? { executable } : {}) };
}

/** The request of `execute`: a line of shell, with a configuration and files. */
export async function executeRequest(command: string, config: SandboxConfig, files: MountedFile[],
                                     transport: Transport): Promise<RunRequest> {
  const workdir = normal(config.workdir ?? WORK);
  return {
    args: ["sh", "-c", command],
    stdin: "",
    network: networkOf(config),
    limits: {
      timeout: `${config.timeout ?? 300000}ms`,
      cpus: config.cpuLimit ?? "1",
      memory: config.memoryLimit ?? "2g",
      disk: "1g",
      pids: 100,
    },
    ...(files.length ? { files: await Promise.all(files.map((file) => fileOf(file, workdir, transport))) } : {}),
    ...(config.env ? { env: config.env } : {}),
    ...(config.image ? { image: config.image } : {}),
    ...(config.readOnly ? { read_only: true } : {}),
    ...(workdir === WORK ? {} : { workdir }),
  };
}

/** The result, unless it says that there was no run. */
export function checked(result: RunResult): RunResult {
  if (result.error) throw errorOf(result.error.message ?? "", result.error);
  return result;
}

export function dataOf(event: RunEvent): Uint8Array {
  return event.data_b64 === undefined ? new TextEncoder().encode(event.data ?? "") : fromBase64(event.data_b64);
}

/** Of Linux, from 1 on. */
const SIGNALS = ("HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP "
  + "TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS").split(" ");

/** Of "SIGKILL", or of "signal 34". */
function numberOf(name: string): number {
  return SIGNALS.indexOf(name.slice("SIG".length)) + 1 || Number(name.split(" ")[1] ?? 9);
}

export function statusOf(result: RunResult): number {
  if (result.outcome === "timeout" || result.outcome === "cpu_limit") return 124;
  return result.exit_code ?? 128 + numberOf(result.signal ?? "SIGKILL");
}
