// Ends in the way that its argument names.
import { writeSync } from "node:fs";

interface Values {
  present: number;
  missing?: { field: string };
}

function inner(values: Values): string {
  return values.missing!.field;
}

function outer(): string {
  return inner({ present: 1 });
}

const how: string | undefined = process.argv[2];
if (how === "exit") {
  console.log("leaving");
  console.error("complaint");
  process.exit(7);
} else if (how === "error") {
  console.log("before");
  outer();
} else if (how === "loop") {
  console.log("started");
  for (;;);
} else if (how === "memory") {
  console.log("started");
  for (const kept: Buffer[] = []; ; ) kept.push(Buffer.alloc(4 << 20, "x"));
} else if (how === "flood") {
  for (;;) writeSync(1, "x".repeat(99) + "\n");
}
