// Says what it was given: arguments, one variable, stdin line by line.
import * as readline from "node:readline";

const words: string[] = process.argv.slice(2);
console.log("args: " + words.map((word) => `[${word}]`).join(""));
console.log("GREETING: " + (process.env["GREETING"] ?? "unset"));
let count = 0;
readline.createInterface({ input: process.stdin }).on("line", (line: string) => {
  console.log(`${++count}: ${line}`);
});
