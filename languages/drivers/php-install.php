<?php
// Installs packages with Composer: those of the words, and those of a composer.json in the current
// directory.
//
// php-install.php DIRECTORY [VENDOR/NAME[@VERSION]]...
//
// DIRECTORY/vendor has the packages.  DIRECTORY/start.php is run before the program: it loads them,
// and shows them where programs look for them.
declare(strict_types=1);

const START = <<<'PHP'
<?php
(static function () {
    // The program may look beside itself; when it ends, there is nothing new.
    $link = getcwd() . '/vendor';
    if (!file_exists($link) && @symlink(__DIR__ . '/vendor', $link))
        register_shutdown_function(static fn () => @unlink($link));
})();
require_once __DIR__ . '/vendor/autoload.php';
PHP;

function fail(string $text): never
{
    fwrite(STDERR, "$text\n");
    exit(1);
}

function find_composer(): string
{
    foreach (['/usr/bin/composer', '/usr/local/bin/composer', '/usr/share/php/Composer/bin/composer'] as $place)
        if (is_file($place))
            return $place;
    fail('packages of PHP need Composer: install the package composer');
}

/* NAME and NAME@VERSION in Composer's spelling. */
function wanted(string $word): string
{
    if (!preg_match('#^([a-z0-9][a-z0-9_.-]*/[a-z0-9][a-z0-9_.-]*)(?:@([0-9A-Za-z.*^~<>=|, -]+))?$#', $word, $part))
        fail("'$word' is no package: write VENDOR/NAME or VENDOR/NAME@VERSION");
    $version = $part[2] ?? 'latest';
    return $version === 'latest' ? $part[1] : "$part[1]:$version";
}

/* The project's manifest without the parts that need its files, which are not here. */
function bring_manifest(): void
{
    $manifest = is_file('composer.json') ? json_decode(file_get_contents('composer.json')) : new stdClass();
    if (!$manifest instanceof stdClass)
        fail('composer.json: ' . json_last_error_msg());
    unset($manifest->scripts, $manifest->bin);
    foreach (['autoload' => ['classmap'], 'autoload-dev' => ['classmap'], 'config' => ['vendor-dir', 'bin-dir']] as $part => $names)
        foreach (isset($manifest->$part) ? $names : [] as $name)
            unset($manifest->$part->$name);
    file_put_contents('composer.json', json_encode($manifest, JSON_UNESCAPED_SLASHES));
}

/* With the program's own interpreter, because its version decides which packages fit.  The last
 * paragraph of what Composer says about a failure is the synopsis of its command. */
function composer(string ...$words): void
{
    $options = ['--no-interaction', '--no-ansi', '--no-progress'];
    $command = [PHP_BINARY, '-d', 'memory_limit=-1', '-d', 'display_errors=stderr', find_composer(), ...$words, ...$options];
    $process = proc_open($command, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
    $said = stream_get_contents($pipes[1]);
    $status = proc_close($process);
    if ($status !== 0)
        fail(rtrim(preg_replace('/\n\n[a-z-]+ \[--.*/s', '', $said)));
}

/* Composer itself would look for /etc/xdg first, which is not here. */
function use_settings(): void
{
    foreach (['/.config/composer', '/.composer'] as $place)
        if (is_dir(getenv('HOME') . $place)) {
            putenv('COMPOSER_HOME=' . getenv('HOME') . $place);
            return;
        }
}

/* Plugins are code of packages: they run when everything is fetched, without a network. */
function run_plugins(): void
{
    $manifest = json_decode(file_get_contents('composer.json'));
    if (empty((array) ($manifest->config->{'allow-plugins'} ?? [])))
        return;
    if (gethostbyname('close.sandbox-run.internal') !== '127.0.0.1')
        fail('the network could not be given back, so no plugin of Composer was run');
    putenv('COMPOSER_DISABLE_NETWORK=1');
    composer('install');
}

[, $directory] = $argv;
$words = array_map('wanted', array_slice($argv, 2));
use_settings();
putenv("COMPOSER_VENDOR_DIR=$directory/vendor");
putenv("COMPOSER_BIN_DIR=$directory/bin");
putenv('COMPOSER_CACHE_DIR=/dev/null');
bring_manifest();
if ($words)
    composer('require', '--no-plugins', '--no-scripts', ...$words);
else
    composer('install', '--no-plugins', '--no-scripts');
run_plugins();
file_put_contents("$directory/start.php", START);
