// Tries to read the files that it is given, then to connect to the port that comes last.
const fs = require("node:fs");
const net = require("node:net");

const paths = process.argv.slice(2);
const port = Number(paths.pop());
for (const path of paths) {
  try {
    console.log("read", fs.readFileSync(path).length);
  } catch {
    console.log("refused");
  }
}
const socket = net.connect(port, "127.0.0.1");
socket.on("connect", () => { console.log("connected"); process.exit(); });
socket.on("error", () => console.log("no connection"));
