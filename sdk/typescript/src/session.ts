import { checked } from "./request.js";
import type { CallOptions, CellRequest, RunEvent, RunResult, SessionInfo, Transport } from "./types.js";

/** One sandbox that stays alive; made by `SandboxExecutor.session`. */
export class Session {
  readonly id: string;

  constructor(private readonly transport: Transport, readonly info: SessionInfo) {
    this.id = info.id;
  }

  /** Runs one cell. */
  async run(code: string, cell: Omit<CellRequest, "code"> = {}, options: CallOptions = {}): Promise<RunResult> {
    return checked(await this.transport.cell(this.id, { ...cell, code }, options));
  }

  async *stream(code: string, cell: Omit<CellRequest, "code"> = {}, options: CallOptions = {}): AsyncGenerator<RunEvent> {
    for await (const event of this.transport.streamCell(this.id, { ...cell, code }, options)) {
      if (event.result) checked(event.result);
      yield event;
    }
  }

  /** Stops the cell that runs and keeps its names. */
  interrupt(): Promise<Record<string, unknown>> {
    return this.transport.act(this.id, "interrupt", {});
  }

  restart(): Promise<Record<string, unknown>> {
    return this.transport.act(this.id, "restart", {});
  }

  checkpoint(): Promise<Record<string, unknown>> {
    return this.transport.act(this.id, "checkpoint", {});
  }

  /** Back to the state before this cell. */
  rollback(cell: number): Promise<Record<string, unknown>> {
    return this.transport.act(this.id, "rollback", { cell });
  }

  writeFile(path: string, content: string | Uint8Array): Promise<void> {
    const data = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return this.transport.putFile(this.id, path, data);
  }

  readFile(path: string): Promise<Uint8Array> {
    return this.transport.getFile(this.id, path);
  }

  files(): Promise<Record<string, unknown>[]> {
    return this.transport.listFiles(this.id);
  }

  close(): Promise<void> {
    return this.transport.closeSession(this.id);
  }
}
