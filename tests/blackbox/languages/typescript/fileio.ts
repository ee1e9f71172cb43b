// Writes, appends, reads, renames, lists and removes in the work directory.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

fs.mkdirSync("notes");
const one: string = path.join("notes", "one.txt");
fs.writeFileSync(one, "alpha\nbeta\n");
fs.appendFileSync(one, "gamma\n");
const lines: string[] = fs.readFileSync(one, "utf8").trimEnd().split("\n");
console.log(lines.length, lines.join(","));

fs.writeFileSync("raw.bin", Uint8Array.from({ length: 256 }, (_, n) => n));
const bytes: Buffer = fs.readFileSync("raw.bin");
console.log(fs.statSync("raw.bin").size, bytes.reduce((a: number, b: number) => a + b));

fs.renameSync(one, path.join("notes", "two.txt"));
console.log(fs.readdirSync("notes").join(" "));
fs.unlinkSync(path.join("notes", "two.txt"));
console.log(fs.readdirSync("notes").length);

const scratch: string = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "x-")), "file");
fs.writeFileSync(scratch, "scratch");
console.log(fs.readFileSync(scratch, "utf8"));
