// An API that speaks HTTP/2 alone: with TLS when a certificate and a key are given.  Says its port.
const http2 = require("node:http2");
const fs = require("node:fs");
const [cert, key] = process.argv.slice(2);
const server = cert
  ? http2.createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: false })
  : http2.createServer();
const KEY = process.env.THE_KEY;

server.on("stream", (stream, head) => {
  const parts = [];
  stream.on("error", () => {});
  stream.on("data", (part) => parts.push(part));
  stream.on("end", () => {
    const body = Buffer.concat(parts);
    const ok = head.authorization === `Bearer ${KEY}`;
    const path = head[":path"].split("?")[0];
    console.log(JSON.stringify({ path: head[":path"], authority: head[":authority"], ok, length: body.length,
      agent: head["user-agent"] }));
    stream.respond({ ":status": ok ? 200 : 401, "x-echo": head.authorization || "none" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-end": KEY }));
    if (path === "/big") stream.end(Buffer.alloc(8 << 20, "x"));
    else if (path === "/pieces") {
      stream.write(`data: ${KEY.slice(0, 9)}`);
      setImmediate(() => stream.end(`${KEY.slice(9)} end`));
    } else stream.end(JSON.stringify({ ok, head: { ...head }, length: body.length }));
  });
});
server.on("sessionError", () => {});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
