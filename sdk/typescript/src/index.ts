export * from "./errors.js";
export { DockerSandboxExecutor, SandboxExecutor } from "./executor.js";
export { Session } from "./session.js";
export type * from "./types.js";
