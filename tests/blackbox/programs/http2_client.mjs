// Speaks HTTP/2 alone: argv is an address, then METHOD PATH AUTHORITY BYTES in turn.  One line for each.
import http2 from "node:http2";
const [address, ...words] = process.argv.slice(2);
const session = http2.connect(address);
session.on("error", (problem) => { console.log(JSON.stringify({ error: problem.message })); process.exit(0); });
const asks = [];
for (let i = 0; i < words.length; i += 4) {
  const [method, path, authority, bytes] = words.slice(i, i + 4);
  asks.push(new Promise((done) => {
    const head = { ":method": method, ":path": path, authorization: `Bearer ${process.env.API_KEY}`, te: "trailers" };
    if (authority !== "-") head[":authority"] = authority;
    const stream = session.request(head, { endStream: method === "GET" });
    let status, reply, trailers, body = "";
    stream.on("response", (head) => { status = head[":status"]; reply = head; });
    stream.on("trailers", (head) => { trailers = { ...head }; });
    stream.setEncoding("utf8");
    stream.on("data", (part) => { body += part; });
    stream.on("error", (problem) => done({ path, error: problem.code }));
    stream.on("close", () => done({ path, status, echo: reply?.["x-echo"], trailers, length: body.length, body: body.slice(0, 600) }));
    if (method !== "GET") stream.end(Buffer.alloc(Number(bytes), "y"));
  }));
}
for (const one of asks) console.log(JSON.stringify(await one));
session.close();
