<?php
// Tries to read the files that it is given, then to connect to the port that comes last.
$paths = array_slice($argv, 1);
$port = (int)array_pop($paths);
foreach ($paths as $path) {
    $text = @file_get_contents($path);
    echo $text === false ? "refused" : "read " . strlen($text), "\n";
}
echo @fsockopen("127.0.0.1", $port, $code, $message, 5) ? "connected" : "no connection", "\n";
