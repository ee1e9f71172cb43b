// Writes, appends, reads, renames, lists and removes in the work directory.
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

fs.mkdirSync("notes");
const one = path.join("notes", "one.txt");
fs.writeFileSync(one, "alpha\nbeta\n");
fs.appendFileSync(one, "gamma\n");
const lines = fs.readFileSync(one, "utf8").trimEnd().split("\n");
console.log(lines.length, lines.join(","));

fs.writeFileSync("raw.bin", Uint8Array.from({ length: 256 }, (_, n) => n));
console.log(fs.statSync("raw.bin").size, fs.readFileSync("raw.bin").reduce((a, b) => a + b));

fs.renameSync(one, path.join("notes", "two.txt"));
console.log(fs.readdirSync("notes").join(" "));
fs.unlinkSync(path.join("notes", "two.txt"));
console.log(fs.readdirSync("notes").length);

const scratch = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "x-")), "file");
fs.writeFileSync(scratch, "scratch");
console.log(fs.readFileSync(scratch, "utf8"));
