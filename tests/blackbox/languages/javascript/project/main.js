import { readFile } from "node:fs/promises";
import { area } from "./lib/shapes.js";
import old from "./lib/old.cjs";

const words = await readFile(new URL("data/words.txt", import.meta.url), "utf8");
console.log(old.name, area(2, 3), words.trim());
