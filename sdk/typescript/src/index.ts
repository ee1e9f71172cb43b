export * from "./errors.js";
export { SandboxExecutor } from "./executor.js";
export { Session } from "./session.js";
export type * from "./types.js";
