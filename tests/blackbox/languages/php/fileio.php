<?php
// Writes, appends, reads, renames, lists and removes in the work directory.
mkdir("notes");
file_put_contents("notes/one.txt", "alpha\nbeta\n");
file_put_contents("notes/one.txt", "gamma\n", FILE_APPEND);
$lines = file("notes/one.txt", FILE_IGNORE_NEW_LINES);
echo count($lines), " ", implode(",", $lines), "\n";
file_put_contents("raw.bin", pack("C*", ...range(0, 255)));
echo filesize("raw.bin"), " ", array_sum(unpack("C*", file_get_contents("raw.bin"))), "\n";
rename("notes/one.txt", "notes/two.txt");
echo implode(" ", array_diff(scandir("notes"), [".", ".."])), "\n";
unlink("notes/two.txt");
echo count(glob("notes/*")), "\n";
$scratch = tempnam(sys_get_temp_dir(), "x");
file_put_contents($scratch, "scratch");
echo file_get_contents($scratch), "\n";
