const fs = require("fs");
const { join } = require("./part");

console.log(join(fs.readFileSync("words.txt", "utf8").trim().split(" ")));
