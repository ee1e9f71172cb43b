import { readFileSync } from "fs";
import { join, type Words } from "./part";

const words: Words = readFileSync("words.txt", "utf8").trim().split(" ");
console.log(join(words));
