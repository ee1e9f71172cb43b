"""Programs that talk with their caller line by line, in each language; for the suites that run them cold and warm."""
import os
import select
import time

# A line, a byte of stdin, another line; then a prompt without an end of line where the language can.
CONVERSATIONS = {
    "bash": 'echo one; read x; echo "two $x"',
    "sh": 'echo one; read x; echo "two $x"',
    "zsh": 'echo one; read x; echo "two $x"',
    "c": '#include <stdio.h>\nint main(void) { char x[9]; puts("one"); if (scanf("%8s", x) != 1) return 1;'
         ' printf("two %s\\nmore? ", x); if (scanf("%8s", x) != 1) return 1; printf("%s\\n", x); return 0; }',
    "c++": '#include <iostream>\n#include <string>\nint main() { std::string x; std::cout << "one\\n"; std::cin >> x;'
           ' std::cout << "two " << x << "\\nmore? "; std::cin >> x; std::cout << x << "\\n"; }',
    "go": 'package main\nimport "fmt"\nfunc main() { var x string; fmt.Println("one"); fmt.Scan(&x);'
          ' fmt.Print("two ", x, "\\nmore? "); fmt.Scan(&x); fmt.Println(x) }',
    "java": 'import java.util.*; public class Main { public static void main(String[] a) { Scanner s = new Scanner(System.in);'
            ' System.out.println("one"); System.out.print("two " + s.next() + "\\nmore? "); System.out.println(s.next()); } }',
    "javascript": 'const fs = require("fs"); const read = () => { const b = Buffer.alloc(9); return b.toString("utf8", 0,'
                  ' fs.readSync(0, b)).trim(); }; console.log("one"); process.stdout.write(`two ${read()}\\nmore? `);'
                  ' console.log(read())',
    "lua": 'io.write("one\\n"); io.write("two ", io.read(), "\\nmore? "); print(io.read())',
    "perl": 'print "one\\n"; $_ = <STDIN>; chomp; print "two $_\\nmore? "; print scalar <STDIN>',
    "php": '<?php echo "one\\n"; $x = trim(fgets(STDIN)); echo "two $x\\nmore? "; echo fgets(STDIN);',
    "python": 'print("one"); x = input(); print("two", x); print(input("more? "))',
    "r": 'cat("one\\n"); f <- file("stdin", "r"); x <- readLines(f, 1); cat("two ", x, "\\nmore? ", sep=""); cat(readLines(f, 1), "\\n", sep="")',
    "ruby": 'puts "one"; x = gets.chomp; print "two #{x}\\nmore? "; puts gets',
    "rust": 'use std::io; fn main() { let mut x = String::new(); println!("one"); io::stdin().read_line(&mut x).unwrap();'
            ' println!("two {}", x.trim()); }',
    "typescript": 'import { readSync } from "node:fs"; const read = (): string => { const b = Buffer.alloc(9); return'
                  ' b.toString("utf8", 0, readSync(0, b)).trim(); }; console.log("one"); console.log("two " + read())',
    "sql": "SELECT 'one';\nCREATE TABLE t(x);\n.import /dev/stdin t\nSELECT 'two ' || x FROM t;",
    "postgres": "\\pset tuples_only on\n\\pset format unaligned\nSELECT 'one';\n\\prompt x\nSELECT 'two ' || :'x';",
}


WITHOUT_PROMPT = {"bash", "sh", "zsh", "rust", "typescript", "sql", "postgres"}
SECONDS = 240  # a first run may prepare its toolchain


def read_until(stream, end, seconds=SECONDS):
    """What came, up to `end` and no further."""
    text, deadline = b"", time.monotonic() + seconds
    while not text.endswith(end):
        ready, _, _ = select.select([stream], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"not in time, only {text[-200:]!r}"
        data = os.read(stream.fileno(), 1 << 16)
        assert data, f"end of file after {text[-200:]!r}"
        text += data
    return text


def talk(process, language):
    """Each part comes before the program gets what it needs for the next: no time is measured."""
    assert read_until(process.stdout, b"one\n") == b"one\n"
    process.stdin.write(b"1\n")
    if language in WITHOUT_PROMPT:
        process.stdin.close()
        assert read_until(process.stdout, b"two 1\n")
    else:
        assert read_until(process.stdout, b"more? ") == b"two 1\nmore? "
        process.stdin.write(b"2\n")
        assert read_until(process.stdout, b"2\n") == b"2\n"
    assert process.wait(SECONDS) == 0
