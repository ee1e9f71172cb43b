// Ends in the way that its argument names.
function inner(values) {
  return values.missing.field;
}

function outer() {
  return inner({ present: 1 });
}

switch (process.argv[2]) {
  case "exit":
    console.log("leaving");
    console.error("complaint");
    process.exit(7);
  case "error":
    console.log("before");
    outer();
  case "loop":
    console.log("started");
    for (;;);
  case "memory":
    console.log("started");
    for (const kept = []; ; ) kept.push(Buffer.alloc(4 << 20, "x"));
  case "flood":
    for (;;) require("fs").writeSync(1, "x".repeat(99) + "\n");
}
