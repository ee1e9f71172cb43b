<?php
declare(strict_types=1);

spl_autoload_register(fn(string $class) => require __DIR__ . "/lib/" . strtr($class, "\\", "/") . ".php");

use Shapes\Rectangle;

echo Rectangle::NAME, " ", (new Rectangle(2, 3))->area(), " ", file_get_contents("data/words.txt");
