/** How one request is sent: by Node's client where there is one, else by `fetch`. */
export interface Sent {
  method: string;
  headers: Record<string, string>;
  body?: Uint8Array;
  signal?: AbortSignal;
}

export interface Answer {
  status: number;
  header(name: string): string | null;
  chunks: AsyncIterable<Uint8Array>;
}

export async function send(url: string, sent: Sent): Promise<Answer> {
  if (typeof process === "object" && process.versions?.node) return (await import("./node.js")).send(url, sent);
  const response = await fetch(url, { ...sent, body: sent.body as BodyInit | undefined });
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    chunks: chunksOf(response),
  };
}

/** Not every browser can iterate a body. */
async function* chunksOf(response: Response): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  try {
    while (reader) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

/** Until then, or until the signal. */
export function wait(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
