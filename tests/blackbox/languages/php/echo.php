<?php
// Says what it was given: arguments, one variable, stdin line by line.
echo "args: ", implode("", array_map(fn($word) => "[$word]", array_slice($argv, 1))), "\n";
$greeting = getenv("GREETING");
echo "GREETING: ", $greeting === false ? "unset" : $greeting, "\n";
for ($number = 1; ($line = fgets(STDIN)) !== false; $number++) {
    echo "$number: ", rtrim($line), "\n";
}
