<?php
// session-php.php: the PHP kernel of a session, on the descriptor that SANDBOX_RUN_KERNEL_FD names.
//
// Each cell is a file that is included at the top level of this one, so its variables are global and
// stay.  A cell that does not end in ";" or "}" is an expression, whose value is shown.  exit() ends the
// kernel, and its status says how.

final class SandboxRunInterrupt extends Error
{
}

final class SandboxRunKernel
{
    private const LARGEST = 16 << 20;
    private const MOST_MATCHES = 500;
    private const SHORT = 80;
    private static $channel;
    private static int $owner = 0;
    private static array $known = [];
    private static string $folder = ''; // of the cells
    public static int $cell = 0;
    public static bool $running = false;

    public static function start(): void
    {
        $fd = (int) getenv('SANDBOX_RUN_KERNEL_FD');
        putenv('SANDBOX_RUN_KERNEL_FD');
        self::$channel = fopen("php://fd/$fd", 'r+b');
        self::keepFromChildren();
        self::$owner = getmypid();
        self::$known = array_keys($GLOBALS);
        stream_set_read_buffer(self::$channel, 0);
        self::$folder = sys_get_temp_dir() . '/.cells.' . self::$owner;
        @mkdir(self::$folder, 0700);
        ini_set('display_errors', 'stderr');
        ini_set('html_errors', '0');
        self::watch();
        self::send('ready', 0, '-', ['version' => PHP_VERSION, 'can' => ['check', 'complete', 'vars'], 'pid' => self::$owner]);
    }

    /* PHP itself cannot set close-on-exec; without FFI the children of a cell have the channel as well. */
    private static function keepFromChildren(): void
    {
        try {
            $libc = FFI::cdef('int fcntl(int fd, int command, int flags);');
            for ($fd = 3; $fd < 64; $fd++)
                $libc->fcntl($fd, 2 /* F_SETFD */, 1 /* FD_CLOEXEC */);
        } catch (Throwable) {
        }
    }

    public static function watch(): void
    {
        if (!function_exists('pcntl_async_signals'))
            return;
        pcntl_async_signals(true);
        pcntl_sigprocmask(SIG_UNBLOCK, [SIGINT]);
        pcntl_signal(SIGINT, function () {
            if (self::$running)
                throw new SandboxRunInterrupt('interrupted');
        });
    }

    public static function send(string $word, int $number, string $argument, array $value): void
    {
        if (getmypid() !== self::$owner)
            return;
        $flags = JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;
        $text = json_encode($value ?: new stdClass(), $flags | JSON_PARTIAL_OUTPUT_ON_ERROR);
        if (strlen($text) > self::LARGEST)
            $text = json_encode(['text/plain' => '(too long to show)']);
        $rest = "$word $number $argument " . strlen($text) . "\n$text";
        while ($rest !== '') {
            $written = @fwrite(self::$channel, $rest);
            if (!$written)
                exit(1);
            $rest = substr($rest, $written);
        }
    }

    private static function read(int $length): ?string
    {
        $data = '';
        while (strlen($data) < $length) {
            $more = @fread(self::$channel, min($length - strlen($data), 65536));
            if ($more === false || ($more === '' && feof(self::$channel)))
                return null;
            $data .= $more;
        }
        return $data;
    }

    private static function header(): ?array
    {
        for ($line = ''; !str_ends_with($line, "\n"); $line .= $byte)
            if (($byte = self::read(1)) === null)
                return null;
        return explode(' ', trim($line));
    }

    /* The file of the next cell; questions are answered on the way. */
    public static function next(): ?string
    {
        while ($header = self::header()) {
            [$word, $number, $argument, $length] = $header;
            $payload = self::read((int) $length);
            if ($payload === null)
                return null;
            if ($word === 'execute') {
                self::$cell = (int) $number;
                self::watch();
                return self::write($payload);
            }
            if ($word === 'check')
                self::send('answer', (int) $number, self::check($payload), ['indent' => '']);
            elseif ($word === 'complete')
                self::send('answer', (int) $number, 'ok', self::complete($payload, (int) $argument));
            elseif ($word === 'vars')
                self::send('answer', (int) $number, 'ok', ['vars' => self::variables()]);
            else
                self::send('answer', (int) $number, 'invalid', ['message' => 'this kernel cannot do that']);
        }
        return null;
    }

    private static function write(string $code): string
    {
        $path = self::$folder . '/cell-' . self::$cell;
        @mkdir(self::$folder, 0700);
        file_put_contents($path, '<?php ' . self::prepare($code));
        return $path;
    }

    private static function prepare(string $code): string
    {
        $code = preg_replace('/^\s*<\?php\b/', '', $code);
        self::$shows = false;
        if (!preg_match('/[;}]\s*$/', $code) && trim($code) !== '') {
            try {
                token_get_all("<?php return $code;", TOKEN_PARSE);
                self::$shows = true;
                return "return $code;";
            } catch (ParseError) {
                return "$code;";
            }
        }
        return $code;
    }

    private static function check(string $code): string
    {
        try {
            token_get_all('<?php ' . self::prepare($code), TOKEN_PARSE);
            return 'complete';
        } catch (ParseError $error) {
            $open = '/unexpected end of file|Unclosed|unterminated/i';
            return preg_match($open, $error->getMessage()) ? 'incomplete' : 'invalid';
        }
    }

    /* Names that begin as the word before the cursor: of variables, or of functions, classes and constants. */
    private static function complete(string $code, int $cursor): array
    {
        preg_match('/\$?\w*\z/', substr($code, 0, $cursor), $found);
        $word = $found[0];
        $names = str_starts_with($word, '$')
            ? array_map(fn($name) => "\$$name", array_diff(array_keys($GLOBALS), self::$known))
            : array_merge(...array_values(get_defined_functions()), ...[get_declared_classes()],
                ...[array_keys(get_defined_constants())]);
        $matches = array_filter($names, fn($name) => strlen($word) && str_starts_with($name, $word)
            && !str_starts_with($name, 'SandboxRun'));
        sort($matches);
        return ['matches' => array_slice($matches, 0, self::MOST_MATCHES), 'start' => $cursor - strlen($word)];
    }

    private static function variables(): array
    {
        $found = [];
        foreach ($GLOBALS as $name => $value) {
            if (in_array($name, self::$known, true))
                continue;
            $text = preg_replace('/\s+/', ' ', (string) json_encode($value, JSON_PARTIAL_OUTPUT_ON_ERROR
                | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE));
            $short = strlen($text) > self::SHORT ? mb_strcut($text, 0, self::SHORT - 3) . '...' : $text;
            $found[] = ['name' => $name, 'type' => get_debug_type($value), 'size' => strlen($text), 'value' => $short];
        }
        return $found;
    }

    public static bool $shows = false; // the cell is an expression

    public static function show(mixed $value): void
    {
        if (self::$shows && $value !== null)
            self::send('display', self::$cell, '-', ['text/plain' => is_object($value) || is_array($value)
                ? rtrim(print_r($value, true)) : var_export($value, true)]);
    }

    private static function short(string $text): string
    {
        return str_replace(self::$folder . '/', '', $text);
    }

    private static function frames(Throwable $error): array
    {
        $frames = [];
        foreach ([['file' => $error->getFile(), 'line' => $error->getLine()], ...$error->getTrace()] as $place) {
            $file = $place['file'] ?? '';
            if ($file !== '' && $file !== __FILE__)
                $frames[] = ['file' => self::short($file), 'line' => $place['line'], 'function' => $place['function'] ?? ''];
        }
        return $frames;
    }

    public static function complain(Throwable $error): array
    {
        $frames = self::frames($error);
        $place = $frames ? " in {$frames[0]['file']}:{$frames[0]['line']}" : '';
        $message = self::short($error->getMessage());
        fwrite(STDERR, 'PHP Fatal error:  Uncaught ' . get_class($error) . ": $message$place\n");
        return ['type' => get_class($error), 'message' => $message, 'frames' => $frames];
    }

    public static function done(string $status, array $details): void
    {
        self::$running = false;
        if (getmypid() !== self::$owner)
            exit(0);
        while (ob_get_level() > 0)
            ob_end_flush();
        flush();
        self::send('done', self::$cell, $status, $details);
    }
}

SandboxRunKernel::start();
while (($sandbox_run_code = SandboxRunKernel::next()) !== null) {
    try {
        SandboxRunKernel::$running = true;
        SandboxRunKernel::show(include $sandbox_run_code);
        SandboxRunKernel::done('ok', []);
    } catch (SandboxRunInterrupt) {
        fwrite(STDERR, "Interrupted\n");
        SandboxRunKernel::done('interrupted', []);
    } catch (Throwable $sandbox_run_error) {
        SandboxRunKernel::done('error', SandboxRunKernel::complain($sandbox_run_error));
        unset($sandbox_run_error);
    }
    unset($sandbox_run_code);
}
