// A walk through the type system and Node's own modules; every line of its output is known.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import zlib from "node:zlib";

enum Colour { Red = 1, Green }
const enum Level { Low = "low", High = "high" }

namespace Units {
  export const metre = 100;
}

type Shape =
  | { kind: "circle"; radius: number }
  | { kind: "square"; side: number };

function area(shape: Shape): number {
  switch (shape.kind) {
    case "circle": return Math.round(Math.PI * shape.radius ** 2);
    case "square": return shape.side ** 2;
    default: { const never: never = shape; return never; }
  }
}

abstract class Animal {
  protected constructor(public readonly name: string, private legs = 4) {}
  abstract sound(): string;
  toString(): string { return `${this.name} says ${this.sound()} on ${this.legs} legs`; }
}

class Dog extends Animal {
  static override name = "Hound";
  constructor(name: string) { super(name); }
  override sound() { return "woof" as const; }
}

class Stack<T extends { toString(): string }> {
  readonly #items: T[] = [];
  push(...items: T[]): this { this.#items.push(...items); return this; }
  pop(): T | undefined { return this.#items.pop(); }
  get size() { return this.#items.length; }
}

interface Tree<T> { value: T; children?: Tree<T>[] }
function* walk<T>({ value, children = [] }: Tree<T>): Generator<T> {
  yield value;
  for (const child of children) yield* walk(child);
}

type Keys<T> = { [K in keyof T]: T[K] extends number ? K : never }[keyof T];
const sizes = { width: 2, label: "x", height: 3 } satisfies Record<string, number | string>;
const keys: Keys<typeof sizes>[] = ["width", "height"];

function pick(value: string): string;
function pick(value: number): number;
function pick(value: string | number): string | number { return value; }

const isText = (value: unknown): value is string => typeof value === "string";

console.log(Colour[2], Colour.Red, Level.High, Units.metre);
console.log(area({ kind: "circle", radius: 2 }), area({ kind: "square", side: 3 }));
console.log(String(new Dog("Rex")), Dog.name);
console.log(new Stack<number>().push(1, 2, 3).pop(), new Stack<string>().size);
console.log([...walk({ value: "a", children: [{ value: "b", children: [{ value: "c" }] }, { value: "d" }] })]);
console.log(keys, keys.reduce((product, key) => product * sizes[key], 1), pick("p"), pick(4));
console.log((["a", 1, null] as unknown[]).filter(isText), (sizes as { depth?: number }).depth?.toFixed(1) ?? "none");
const counts = new Map<string, number>();
for (const word of "the quick the lazy the end".split(" ")) counts.set(word, (counts.get(word) ?? 0) + 1);
console.log(Object.fromEntries(counts), JSON.stringify({ n: 2n ** 64n }, (_, v) => typeof v === "bigint" ? `${v}` : v));
console.log(createHash("sha256").update("abc").digest("hex").slice(0, 16), zlib.inflateSync(zlib.deflateSync("squeezed")).toString());
console.log("2024-02-29".replace(/(?<y>\d+)-(?<m>\d+)-(?<d>\d+)/u, "$<d>.$<m>.$<y>"), new Date(Date.UTC(2024, 1, 29)).toISOString());
const emitter = new EventEmitter();
void sleep(5).then(() => emitter.emit("ready", 42));
console.log((await once(emitter, "ready"))[0], await Promise.all([1, 2, 3].map(async (n) => { await sleep(4 - n); return n * n; })));
console.log(execFileSync(process.execPath, ["-p", "6 * 7"], { encoding: "utf8" }).trim());
assert.throws(() => { (null as unknown as { f(): void }).f(); }, TypeError);
