<?php
declare(strict_types=1);

namespace Shapes;

final class Rectangle
{
    public const NAME = "circle";

    public function __construct(private int $width, private int $height) {}

    public function area(): int
    {
        return $this->width * $this->height;
    }
}
