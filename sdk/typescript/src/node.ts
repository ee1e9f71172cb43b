import { request as plain, type IncomingMessage } from "node:http";
import { request as secure } from "node:https";
import type { Answer, Sent } from "./carrier.js";

const CONNECT_MS = 10000;

/** One request by Node's own client: unlike `fetch` it waits as long as a program runs. */
export function send(url: string, { method, headers, body, signal }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method, headers: { ...headers, ...(body === undefined ? {} : { "Content-Length": String(body.length) }) } };
    const call = (url.startsWith("https:") ? secure : plain)(url, { ...options, signal }, (answer) => resolve({
      status: answer.statusCode ?? 0,
      header: (name) => [answer.headers[name]].flat()[0] ?? null,
      chunks: chunksOf(answer),
    }));
    let reached = false;
    const late = setTimeout(() => call.destroy(new Error("no connection within 10 s")), CONNECT_MS);
    call.on("socket", (socket) => {
      const connected = (): void => {
        reached = true;
        clearTimeout(late);
        socket.setKeepAlive(true, 15000); // a service that has vanished is noticed
      };
      if (socket.connecting) socket.once(url.startsWith("https:") ? "secureConnect" : "connect", connected);
      else connected();
    });
    call.on("error", (error) => {
      clearTimeout(late);
      reject(Object.assign(error, { unsent: !reached }));
    });
    call.end(body);
  });
}

async function* chunksOf(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
  for await (const chunk of answer) yield chunk as Uint8Array;
}
