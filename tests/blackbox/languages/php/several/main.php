<?php
require __DIR__ . "/part.php";

echo join_words(explode(" ", trim(file_get_contents("words.txt")))), "\n";
