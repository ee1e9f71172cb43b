<?php
// A walk through the language and its extensions; every line of its output is known.
declare(strict_types=1);

interface Shape
{
    public function area(): float;
}

trait Named
{
    public function name(): string
    {
        return strtolower(static::class);
    }
}

enum Level: int
{
    case Low = 1;
    case High = 10;

    public function shout(): string
    {
        return $this->name . "!";
    }
}

abstract class Base implements Shape, JsonSerializable, Countable
{
    use Named;

    protected static int $made = 0;

    public function __construct(public readonly float $size)
    {
        static::$made++;
    }

    public function count(): int
    {
        return static::$made;
    }

    public function jsonSerialize(): array
    {
        return ["shape" => $this->name(), "area" => $this->area()];
    }
}

class Square extends Base
{
    public function area(): float
    {
        return $this->size ** 2;
    }

    public function __call(string $called, array $args): string
    {
        return "no $called(" . implode(",", $args) . ")";
    }
}

function naturals(): Generator
{
    for ($n = 0; ; $n++) {
        $sent = yield $n;
        if ($sent) {
            echo "sent $sent\n";
        }
    }
}

function fibonacci(int $n, array &$known = []): int
{
    return $known[$n] ??= $n < 2 ? $n : fibonacci($n - 1, $known) + fibonacci($n - 2, $known);
}

$words = explode(" ", "the quick brown fox jumps over the lazy dog the end");
$counts = array_count_values($words);
arsort($counts);
echo array_key_first($counts), " ", current($counts), " ", count($counts), "\n";
usort($words, fn(string $a, string $b): int => strlen($a) <=> strlen($b) ?: strcmp($a, $b));
echo implode(",", array_slice(array_unique($words), 0, 4)), " ", array_sum(array_map(fn($n) => $n ** 2, range(1, 5))), "\n";
["x" => $x, "list" => [, $second]] = ["x" => 1, "list" => [2, 3]];
echo $x, $second, " ", array_reduce([1, 2, 3, 4], fn($a, $b) => $a * $b, 1), " ", implode("", [...[1, 2], ...[3]]), "\n";
$square = new Square(3);
echo $square->area(), " ", $square->name(), " ", count($square), " ", $square->missing(1, 2), " ", json_encode($square), "\n";
echo Level::from(10)->shout(), " ", Level::tryFrom(5)?->shout() ?? "none", " ", match (true) {
    $x > 5 => "big",
    default => "small",
}, "\n";
$numbers = naturals();
$numbers->send("first");
echo $numbers->current(), " ", fibonacci(90), " ", PHP_INT_MAX, " ", intdiv(7, 2), " ", 7 % 3, " ", 2 ** -1, "\n";
$moment = (new DateTimeImmutable("2024-02-28 23:00", new DateTimeZone("UTC")))->add(new DateInterval("PT25H"));
echo $moment->format(DATE_ATOM), " ", $moment->format("l z"), "\n";
$text = json_encode(["b" => [1, 2.5, null, true], "a" => "ü"], JSON_UNESCAPED_UNICODE);
echo $text, " ", json_decode($text, true)["b"][1], "\n";
echo preg_replace('/(?<user>\w+)@(\w+)/', '$2 at $1', "user@host"), " ", implode(",", preg_split('/\D+/', "a1b22c333", -1, PREG_SPLIT_NO_EMPTY)), "\n";
echo substr(hash("sha256", "abc"), 0, 16), " ", base64_encode("abc"), " ", crc32("abc"), " ", bin2hex(pack("nN", 1, 2)), "\n";
printf("%05.1f|%-6s|%x|%'*10s|%+d\n", 3.14159, "left", 255, "pad", 7);
echo ucwords("hello world"), " ", strrev("abc"), " ", str_pad("5", 3, "0", STR_PAD_LEFT), " ", number_format(1234567.891, 2), " ", wordwrap("a long line", 6, "/"), "\n";
$heap = new SplMinHeap();
foreach ([5, 2, 8] as $n) {
    $heap->insert($n);
}
echo $heap->extract(), " ", (new ArrayObject([1, 2]))->count(), " ", iterator_count(new LimitIterator(new InfiniteIterator(new ArrayIterator([1])), 0, 7)), "\n";
$fiber = new Fiber(function (int $given): string {
    $back = Fiber::suspend($given * 2);
    return "done $back";
});
echo $fiber->start(21), " ", $fiber->resume("x") ?? "", $fiber->getReturn(), "\n";
function typed(int $n): int
{
    return $n;
}
try {
    typed("5");
} catch (TypeError $error) {
    echo get_class($error), " ";
} finally {
    echo "finally\n";
}
echo trim(shell_exec("echo child")), " ", (fn(int ...$all) => count($all))(1, 2, 3), " ", PHP_OS_FAMILY, "\n";
