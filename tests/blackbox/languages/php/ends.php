<?php
// Ends in the way that its argument names.
function inner(array $values): int
{
    return strlen($values["present"]->missing());
}

function outer(): int
{
    return inner(["present" => null]);
}

switch ($argv[1]) {
    case "exit":
        echo "leaving\n";
        fwrite(STDERR, "complaint\n");
        exit(7);
    case "error":
        echo "before\n";
        outer();
    case "loop":
        echo "started\n";
        while (true);
    case "memory":
        echo "started\n";
        for ($kept = []; ; ) {
            $kept[] = str_repeat("x", 4 << 20);
        }
    case "flood":
        while (true) {
            echo str_repeat("x", 99), "\n";
        }
}
