import { readFileSync } from "node:fs";

const grüße: Record<string, string> = { "日本": "Nihon", "🦀": "Krebs", "e\u0301": "combining" };
for (const [wort, sinn] of Object.entries(grüße)) console.log(wort, [...wort].length, sinn);
const zeile: string = readFileSync(0, "utf8").trim();
console.log([...zeile].reverse().join(""), "ß".toUpperCase(), "e\u0301".normalize("NFC").length);
