// Waits for a program that is not known yet.  node-start.cjs loads it when Node is started with
// this file as the main module: the same Node, the same options.  After this file, Node's own start
// of the main module follows, so traces and errors are those of a cold run.  With the argument
// `zygote` this process waits for no program: each of its copies does.
'use strict';
const fs = require('node:fs');
const Module = require('node:module');
const net = require('node:net');
const path = require('node:path');

/* From src/wire/zygote.h. */
const GO = 3;
const READY = 'R';
const CANNOT = 'X';

const zygote = process.argv[2] === 'zygote' ? require('./node-zygote.cjs') : null;
const library = zygote && zygote.loadLibrary();
const startMs = 20; // of a Node that is not a copy

/* Variables that Node reads only when it starts: its own, except those in `later`, and others. */
const atStart = /^(NODE_|UV_|LD_|LC_|LANG|OPENSSL_|SSL_CERT_|MALLOC_|GLIBC_)/;
const later = ['NODE_ENV', 'NODE_PATH', 'NODE_TLS_REJECT_UNAUTHORIZED'];

const startVariables = () =>
    Object.keys(process.env)
        .filter((name) => atStart.test(name) && !later.includes(name))
        .map((name) => `${name}=${process.env[name]}`)
        .sort()
        .join('\0');
const startedWith = startVariables();

function encode(directory, argv, env) {
    return [directory, argv.length, ...argv, env.length, ...env, ''].join('\0');
}

function decode(text) {
    const words = text.split('\0');
    const directory = words.shift();
    const argv = words.splice(0, Number(words.shift()));
    const env = words.splice(0, Number(words.shift()));
    return { directory, argv, env };
}

/* In the given order, because programs can see it. */
function setEnvironment(env) {
    for (const name of Object.keys(process.env))
        delete process.env[name];
    for (const variable of env) {
        const end = variable.indexOf('=', 1);
        process.env[variable.slice(0, end)] = variable.slice(end + 1);
    }
    Module._initPaths(); // NODE_PATH, HOME
}

/* Node resolves node-start.cjs from the work directory: an unreadable package.json there ends
 * Node. */
function findsStart() {
    try {
        return Boolean(Module._resolveFilename(module.parent.filename, new Module('internal/preload')));
    } catch {
        return false;
    }
}

/* False: the run needs another start of Node. */
function become({ directory, argv, env }) {
    const main = 1 + process.execArgv.length;
    process.chdir(directory);
    setEnvironment(env);
    process.argv.splice(1, Infinity, path.resolve(argv[main]), ...argv.slice(main + 1));
    const same = argv[0] === process.argv0 && process.execArgv.every((word, at) => word === argv[1 + at]);
    return same && startVariables() === startedWith && findsStart();
}

/* No function of ours may be between Node's start and the program: the first reader of runMain,
 * which is Node, gets a bound one, and later readers get the original. */
function setMain() {
    const { runMain } = Module;
    const put = (value) => Object.defineProperty(Module, 'runMain', { value, configurable: true, enumerable: true, writable: true });
    const get = () => {
        put(runMain);
        return runMain.bind(Module, process.argv[1]);
    };
    Object.defineProperty(Module, 'runMain', { get, configurable: true, enumerable: true });
}

/* Writes nothing several times, to load all that console.log() needs without using the program's
 * own streams.  A zygote has streams that nothing reads. */
function warmOutput() {
    let stream;
    try {
        stream = new net.Socket({ fd: fs.openSync('/proc/self/fd/1', fs.constants.O_WRONLY), readable: false, writable: true });
    } catch {
        return; // no pipe
    }
    const sink = { write: () => stream.write(''), on() {}, once() {}, removeListener() {}, listenerCount: () => 0 };
    const stderr = Object.getOwnPropertyDescriptor(process, 'stderr');
    Object.defineProperty(process, 'stderr', { value: sink, configurable: true, enumerable: true });
    const out = new console.Console(sink);
    out.log(1);
    out.log('%s', 'text', { object: [1, 'two', null] });
    if (zygote) {
        stream.once('error', () => {});
        stream.write('text');
        process._tickCallback();
        stream.removeAllListeners('error');
    }
    stream.unref();
    stream.destroy();
    Object.defineProperty(process, 'stderr', stderr);
}

let parked = 0; // milliseconds

function replace(object, name, make) {
    const property = Object.getOwnPropertyDescriptor(object, name);
    const kind = property && (property.get ? 'get' : 'value');
    if (!property || typeof property[kind] !== 'function')
        return;
    const value = make(property[kind]);
    Object.defineProperty(value, 'name', { value: property[kind].name });
    Object.defineProperty(object, name, { ...property, [kind]: value });
}

/* Clocks that count from the start of the process omit the time of waiting. */
function setClocks() {
    const clock = Object.getPrototypeOf(performance);
    const inside = (time) => (typeof time === 'number' ? time + parked : time);
    const all = (options) => (options && typeof options === 'object'
        ? Object.fromEntries(Object.entries(options).map(([key, value]) => [key, /^(start|end|startTime)$/.test(key) ? inside(value) : value]))
        : options);
    replace(process, 'uptime', (uptime) => () => uptime() - parked / 1000);
    replace(clock, 'now', (now) => function () { return now.call(this) - parked; });
    replace(clock, 'timeOrigin', (origin) => function () { return origin.call(this) + parked; });
    replace(clock, 'mark', (mark) => function (name, options) { return mark.call(this, name, all(options)); });
    replace(clock, 'measure', (measure) => function (name, from, to) { return measure.call(this, name, all(from), to); });
    replace(require('node:perf_hooks').PerformanceEntry.prototype, 'startTime', (time) => function () { return time.call(this) - parked; });
}

/* Loads everything that imports need and that takes no turn of the event loop. */
function warmModules() {
    const map = Buffer.from('{"version":3,"sources":["a"],"names":[],"mappings":"AAAA"}').toString('base64');
    const failing = `try { null.x } catch (error) { error.stack }\n//# sourceMappingURL=data:application/json;base64,${map}`;
    const source = `import 'node:fs'; await 0; ${process.execArgv.includes('--enable-source-maps') ? failing : ''}`;
    import(`data:text/javascript,${encodeURIComponent(source)}`).catch(() => {});
    import(`file://${__dirname}/nothing.mjs`).catch(() => {});
    process._tickCallback();
}

/* Does everything that happens between the order and the program, except for the program. */
function rehearse() {
    const env = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
    const harmless = path.join(__dirname, 'node-syntax.cjs');
    become(decode(encode(process.cwd(), [process.argv0, ...process.execArgv, harmless], env)));
    Module.runMain(harmless);
    delete process.mainModule;
}

function warmUp() {
    for (const name of ['os', 'readline', 'timers/promises', 'v8'])
        require(name);
    void fs.promises;
    warmOutput();
    warmModules();
    setClocks();
    rehearse();
}

/* Removes what the program could see of this file. */
function tidy() {
    const start = module.parent;
    for (const name of Object.keys(require.cache).filter((name) => name !== start.filename))
        delete require.cache[name];
    for (const name of Object.keys(Module._pathCache).filter((name) => name !== `${start.filename}\0`))
        delete Module._pathCache[name];
    start.children.length = 0;
}

/* The order that this process was made for, in bytes; empty: it is not needed any more. */
function waitForOrder() {
    fs.writeSync(GO, READY);
    const ready = zygote ? startMs : performance.now();
    const order = fs.readFileSync(GO, 'utf8');
    parked = performance.now() - ready;
    if (library)
        library.updateTime();
    return order;
}

function obey(order) {
    if (!order)
        process.reallyExit(0);
    if (!become(decode(order))) {
        fs.writeSync(GO, CANNOT);
        process.reallyExit(0);
    }
    fs.closeSync(GO);
}

/* In a copy that tries how a program of ours runs, before there are workers. */
function becomeOurs(program) {
    const env = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
    become({ directory: '/', argv: [process.argv0, ...process.execArgv, program], env });
}

function becomeSample() {
    becomeOurs(zygote.sample);
    process.on('exit', () => {
        library.notePages();
        zygote.tellDrawn(library);
    });
}

function becomeTrial() {
    Module.runMain = () => zygote.runTrial(library);
}

module.exports = setMain;
if (library)
    library.usePipes();
warmUp();
tidy();
const role = zygote ? zygote.serve(library) : undefined;
if (zygote && role === zygote.TRIAL) {
    module.exports = becomeTrial;
} else if (zygote && role === zygote.SAMPLE) {
    becomeSample();
} else if (zygote && role === zygote.ENDLESS) {
    becomeOurs(zygote.endless);
} else {
    obey(waitForOrder());
}
