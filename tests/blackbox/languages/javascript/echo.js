// Says what it was given: arguments, one variable, stdin line by line.
const readline = require("node:readline");

console.log("args: " + process.argv.slice(2).map((word) => `[${word}]`).join(""));
console.log("GREETING: " + (process.env.GREETING ?? "unset"));
let number = 0;
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  console.log(`${++number}: ${line}`);
});
