import { readFile } from "node:fs/promises";
import { area, Kind } from "./lib/shapes.js";

const words: string = await readFile("data/words.txt", "utf8");
console.log(Kind[Kind.circle], area({ width: 2, height: 3 }), words.trim());
