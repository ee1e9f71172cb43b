/** What is thrown when a program could not be run. A program that failed or was killed is a result. */
export class SandboxError extends Error {
  readonly code: string;
  readonly stage: string | undefined;
  readonly status: number | undefined;
  readonly remedy: string | undefined;
  /** Seconds, when the service says how long to wait. */
  readonly retryAfter: number | undefined;

  constructor(message: string, more: ErrorDetails = {}) {
    super(message);
    this.name = new.target.name;
    this.code = more.code ?? "system";
    this.stage = more.stage;
    this.status = more.status;
    this.remedy = more.remedy;
    this.retryAfter = more.retryAfter;
  }
}

export interface ErrorDetails {
  code?: string;
  stage?: string;
  status?: number;
  remedy?: string;
  retryAfter?: number;
}

/** The request is wrong: a field, a limit, a name. */
export class InvalidRequestError extends SandboxError {}
/** A language, command, session or file is not there. */
export class NotFoundError extends SandboxError {}
/** The sandbox may not be given in this way. */
export class DeniedError extends SandboxError {}
/** The service does not know the token. */
export class UnauthorizedError extends SandboxError {}
/** This machine or this service cannot do it. */
export class UnsupportedError extends SandboxError {}
/** Too much runs already. */
export class BusyError extends SandboxError {}
/** sandbox-run itself has failed. */
export class InternalError extends SandboxError {}
/** There is no sandbox-run on this machine. */
export class BinaryNotFoundError extends SandboxError {}
/** The service cannot be reached, or it went away. */
export class ConnectionError extends SandboxError {
  /** `sent` is false when the service was never asked. */
  constructor(message: string, more: ErrorDetails = {}, readonly sent = true) {
    super(message, more);
  }
}

const byCode: Record<string, new (message: string, more?: ErrorDetails) => SandboxError> = {
  invalid: InvalidRequestError,
  not_found: NotFoundError,
  denied: DeniedError,
  unauthorized: UnauthorizedError,
  unsupported: UnsupportedError,
  busy: BusyError,
  bug: InternalError,
  system: InternalError,
  no_memory: InternalError,
};

const codeByStatus: Record<number, string> = {
  400: "invalid", 401: "unauthorized", 403: "denied", 404: "not_found", 409: "busy", 413: "invalid",
  415: "invalid", 422: "invalid", 429: "busy", 501: "unsupported", 503: "busy",
};

export function errorOf(message: string, more: ErrorDetails): SandboxError {
  return new (byCode[more.code ?? "system"] ?? SandboxError)(message, more);
}

/** A problem+json answer of the service. */
export function errorOfProblem(status: number, problem: Record<string, unknown>, retryAfter: string | null): SandboxError {
  const text = problem["detail"] ?? problem["title"] ?? `the service answered with status ${status}`;
  const code = status === 401 ? "unauthorized" : problem["code"] ?? codeByStatus[status] ?? "system";
  return errorOf(String(text), {
    code: String(code),
    status,
    stage: problem["stage"] as string | undefined,
    remedy: problem["remedy"] as string | undefined,
    retryAfter: retryAfter && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined,
  });
}
