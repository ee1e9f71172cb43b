// session-node.cjs [ESBUILD]: the JavaScript kernel of a session, and with esbuild the TypeScript one.
// It speaks frames on the descriptor that SANDBOX_RUN_KERNEL_FD names.
//
// V8's own mode for prompts evaluates the cells: `await` at the top, and names that are declared again.
// It is reached through the inspector's interface in this process; no port is opened.
'use strict';
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const inspector = require('node:inspector');
const Module = require('node:module');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const util = require('node:util');
const vm = require('node:vm');
const { Worker } = require('node:worker_threads');

const { Atomics, Buffer, process, setImmediate, setTimeout } = globalThis; // the cells may take them away
const LARGEST = 16 << 20;
const SHORT = 80;
const IMPORT = '$mport'; // as long as the word that it replaces, so that columns stay
const esbuild = process.argv[2];
const channel = Number(process.env.SANDBOX_RUN_KERNEL_FD);
const session = new inspector.Session();
const maps = new Map(); // cell -> source map of its TypeScript
const { closeSync, openSync, readdirSync, readSync, writeSync } = fs;
const { writeBuffer } = parseInt(process.versions.node) <= 22 ? process.binding('fs') : {};
const AGAIN = -os.constants.errno.EAGAIN;
const { parse, stringify } = JSON;
const { inspect } = util;
const stderr = process.stderr.write.bind(process.stderr);
const { clearInterval, setInterval } = globalThis;
const LOOK_MS = 20; // for an interrupt, while a cell waits
let interrupted; // true once after each interrupt; undefined: Node tells of them by an event
let running = 0; // the cell
let columns = 0; // that the client gives; 0: values are as wide as they come
let ending = null; // status and details of a cell whose end has to wait
let looks = []; // timers that look for an interrupt
let heard = Buffer.alloc(0); // what came while a cell asked, and was not used yet
let unsent = Buffer.alloc(0); // a frame, and what an interrupt broke off before it
let sent = 0; // bytes of it
let giveBack; // the watch of signals
let taker = -1; // what the kernel says of the thread with which Node takes signals; -1: nothing
let watching = -1; // the same of `watcher`
const ASLEEP = ') S ', ASLEEP_TRIES = 1000; // milliseconds
const saying = Buffer.alloc(64);
const nothing = new Int32Array(new SharedArrayBuffer(4));
const frames = []; // that came and were not served yet
let serving = false; // a cell runs
let known; // names that are not the user's
let watcher; // the thread that interrupts what runs after the first `await`; undefined: not needed yet
const shared = new Int32Array(new SharedArrayBuffer(24));
// The watch of signals; interrupts heard; the cell; the cell that computes under Node's watch; the cell to be ended; the
// number of the thread.
const WATCH = 0, HEARD = 1, CELL = 2, UNDER_WATCH = 3, ASKED = 4, THREAD = 5;
const WATCHES = 0, LET_GO_NOW = 1, LET_GO = 2; // the watch
const BREAKING = -1, BROKEN = -2; // instead of the cell, while the thread asks to break code off, and when it has
const LATER = /\b(await|async|import|require|then|catch|finally|on|once|next|nextTick|queueMicrotask|set(Timeout|Interval|Immediate))\b/;
const PATIENCE_MS = 200; // before code that does not let go is broken off
const WATCHER = `
'use strict';
const { workerData: shared, parentPort } = require('node:worker_threads');
const { Session } = require('node:inspector');
const vm = require('node:vm');
globalThis.shared = shared;
Atomics.store(shared, ${THREAD}, Number(require('node:fs').readlinkSync('/proc/thread-self').split('/').pop()));
const asleep = new vm.Script('Atomics.wait(shared, ${WATCH}, ${WATCHES})');
const patience = new vm.Script('Atomics.wait(shared, ${HEARD}, heard, ${PATIENCE_MS})');
let signalled = false;

function watch(script) {
    try {
        return script.runInThisContext({ breakOnSigint: true });
    } catch {
        signalled = true;
    }
}

/* Only code of this cell, or with 0 what cells left; again, when that leaves more that does not let go. */
function breakOff(cell) {
    const session = new Session();
    session.connectToMainThread();
    for (let from = cell; Atomics.compareExchange(shared, ${CELL}, from, ${BREAKING}) === from; from = ${BROKEN}) {
        session.post('Runtime.terminateExecution');
        Atomics.store(shared, ${CELL}, ${BROKEN});
        if (Atomics.wait(shared, ${CELL}, ${BROKEN}, ${PATIENCE_MS}) !== 'timed-out')
            break;
    }
    session.disconnect();
}

/* A second signal for the same cell ends the patience. */
function onSignal() {
    const cell = Atomics.load(shared, ${CELL});
    globalThis.heard = Atomics.load(shared, ${HEARD});
    signalled = false;
    Atomics.store(shared, ${ASKED}, cell);
    parentPort.postMessage(cell);
    if (cell && Atomics.load(shared, ${UNDER_WATCH}) === cell) { // it can be interrupted as without this thread
        process.kill(process.pid, 'SIGINT');
        Atomics.wait(shared, ${UNDER_WATCH}, cell, ${PATIENCE_MS});
    }
    if (watch(patience) !== 'timed-out' && !(signalled && cell && Atomics.load(shared, ${CELL}) === cell))
        return;
    signalled = false;
    breakOff(cell);
}

for (;;) {
    if (!signalled)
        watch(asleep);
    if (signalled) {
        onSignal();
        continue;
    }
    Atomics.store(shared, ${WATCH}, ${LET_GO});
    Atomics.notify(shared, ${WATCH});
    Atomics.wait(shared, ${WATCH}, ${LET_GO});
}`;

/* A thread of Node's own asks this where a module is. */
const RESOLVER = `
let place;
export function initialize(data) {
    place = data;
}
export async function resolve(name, context, next) {
    try {
        return await next(name, context);
    } catch (error) {
        if (error.code !== 'ERR_MODULE_NOT_FOUND' || /^[./]|^\\w+:/.test(name))
            throw error;
        return next(name, { ...context, parentURL: place }).catch(() => { throw error; });
    }
}`;
const caller = new vm.Script('(() => { const begin = $begin; delete globalThis.$begin; begin(); })()');
const given = new Set(); // directories with packages that came while the session lived

/* Bytes, or a negative error number.  V8 breaks code off where a function or a turn of a loop begins: here nothing begins
 * between the write and the count of its bytes.  fs.writeSync calls a function in between, so that a frame could begin
 * twice; it is for Nodes that we have not tried. */
function writePart(bytes, from) {
    if (writeBuffer) {
        const problem = {};
        const n = writeBuffer(channel, bytes, from, bytes.length - from, null, undefined, problem);
        return problem.errno || n;
    }
    try {
        return writeSync(channel, bytes, from);
    } catch (error) {
        return error.errno;
    }
}

function send(word, number, argument, value) {
    let text = Buffer.from(stringify(value));
    if (text.length > LARGEST)
        text = Buffer.from(stringify({ 'text/plain': `<${text.length} bytes, too many to show>` }));
    unsent = Buffer.concat([unsent.subarray(sent), Buffer.from(`${word} ${number} ${argument} ${text.length}\n`), text]);
    sent = 0;
    while (sent < unsent.length) {
        const n = writePart(unsent, sent);
        if (n > 0)
            sent += n;
        else if (n !== AGAIN)
            process.reallyExit(1);
        else
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
}

/* A line for the cell that runs, without its newline: the session asks a person, when there is one; otherwise null.  What
 * an interrupt breaks off is read on by the next question. */
function ask(question, hidden) {
    const part = Buffer.alloc(65536);
    const cell = running;
    if (!cell)
        return null;
    send('ask', cell, '-', { prompt: String(question ?? ''), hidden });
    for (;;) {
        const end = heard.indexOf(10);
        const [word, number, how, length] = heard.toString('latin1', 0, Math.max(end, 0)).split(' ');
        const whole = end + 1 + Number(length);
        if (end >= 0 && heard.length >= whole) {
            const text = heard.toString('utf8', end + 1, whole);
            heard = heard.subarray(whole);
            if (word === 'input' && Number(number) === cell)
                return how === 'ok' ? text : null;
            continue;
        }
        let n = 0;
        try {
            n = readSync(channel, part, 0, part.length, null);
        } catch (error) {
            if (error.code !== 'EAGAIN')
                throw error;
            Atomics.wait(nothing, 0, 0, 10);
            continue;
        }
        if (!n)
            process.reallyExit(0);
        heard = Buffer.concat([heard, part.subarray(0, n)]);
    }
}

/* stdin of the cells, a line at a time, and none ahead of what is read: a person would have to type it. */
function makeInput() {
    const { Readable } = require('node:stream');
    let wants = false;
    const stream = new Readable({
        highWaterMark: 0,
        read() {
            wants = true;
            setImmediate(give);
        },
    });
    function give() {
        if (!wants || stream.isPaused())
            return;
        wants = false;
        const line = ask('', false);
        stream.push(line === null ? null : line + '\n');
    }
    stream.on('resume', () => setImmediate(give));
    return stream;
}

function giveInput() {
    let input;
    Object.defineProperty(process, 'stdin', {
        get: () => (input = input && !input.destroyed && !input.readableEnded ? input : makeInput()),
        configurable: true,
    });
    Object.defineProperty(globalThis, 'prompt', {
        value: (question) => ask(question, false), writable: true, configurable: true, enumerable: false,
    });
}

function post(method, parameters) {
    let answer;
    session.post(method, parameters, (error, result) => { answer = error ? { error } : result; });
    return answer;
}

/* The value behind the inspector's description of it. */
function valueOf(remote) {
    if (!remote.objectId)
        return 'unserializableValue' in remote ? (0, eval)(remote.unserializableValue) : remote.value;
    let value;
    const give = (given) => { value = given; };
    Object.defineProperty(globalThis, '$give', { value: give, configurable: true });
    post('Runtime.callFunctionOn', { functionDeclaration: 'function (v) { globalThis.$give(v) }',
        objectId: remote.objectId, arguments: [{ objectId: remote.objectId }] });
    delete globalThis.$give;
    return value;
}

const show = (value) => inspect(value, { depth: 4, breakLength: columns || SHORT, maxArrayLength: 200, maxStringLength: 100000 });

/* Columns of a character on a terminal. */
const widthOf = (sign) => (/\p{Mn}|\p{Me}|\p{Cf}/u.test(sign) ? 0
    : /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/u
        .test(sign) ? 2 : 1);

/* A cell of a table in so many columns; what is cut ends in dots. */
function fitCell(text, width) {
    let out = ' ', used = 1;
    const whole = [...text].reduce((sum, sign) => sum + widthOf(sign), 0) <= width - 2;
    for (const sign of text) {
        if (used + widthOf(sign) > width - (whole ? 1 : 2))
            break;
        out += sign;
        used += widthOf(sign);
    }
    out += whole ? '' : '…';
    return out + ' '.repeat(width - used - (whole ? 0 : 1));
}

/* The widths of the columns of a table when the widest are cut until all fit. */
function shrunk(widths, most) {
    const fitted = [...widths];
    let total = fitted.reduce((sum, width) => sum + width + 1, 1);
    for (; total > most; total--) {
        const widest = fitted.indexOf(Math.max(...fitted));
        if (fitted[widest] <= 4)
            break;
        fitted[widest]--;
    }
    return fitted;
}

/* One line of a table, whose columns were as wide as `before` says. */
function fitLine(line, before, after) {
    if (/^[┌├└]/.test(line))
        return line[0] + after.map((width) => '─'.repeat(width)).join(line.includes('┬') ? '┬' : line.includes('┼') ? '┼' : '┴')
            + line[line.length - 1];
    const signs = [...line];
    let out = '│';
    for (let i = 0, at = 1; i < before.length; i++, at++) {
        let cell = '';
        for (let used = 0; used < before[i] && at < signs.length; used += widthOf(signs[at++]))
            cell += signs[at];
        out += `${fitCell(cell.trim(), after[i])}│`;
    }
    return out;
}

/* A table as Node writes it, in as many columns as the client has. */
function fitTable(text) {
    const lines = text.split('\n');
    if (!/^┌[─┬]*┐$/.test(lines[0]) || lines[0].length <= columns)
        return text;
    const before = lines[0].slice(1, -1).split('┬').map((rule) => rule.length);
    const after = shrunk(before, columns);
    return lines.map((line) => (line ? fitLine(line, before, after) : line)).join('\n');
}

/* console.table writes by console.log: for that one call the text goes through `fitTable`. */
function fitTables(console) {
    const { table } = console;
    console.table = function (...values) {
        const own = console.log;
        if (!columns)
            return table.apply(console, values);
        console.log = (text, ...rest) => {
            console.log = own;
            own.call(console, typeof text === 'string' ? fitTable(text) : text, ...rest);
        };
        try {
            return table.apply(console, values);
        } finally {
            console.log = own;
        }
    };
}

function display(value) {
    send('display', running, '-', { 'text/plain': typeof value === 'string' ? value : show(value) });
}

/* Skips what is no code from `at` on: a string, a template, a comment, a regular expression. */
function skip(code, at, before) {
    const next = code[at + 1];
    if (code[at] === '/' && next === '/')
        return (code.indexOf('\n', at) + 1 || code.length + 1) - 1;
    if (code[at] === '/' && next === '*')
        return (code.indexOf('*/', at + 2) + 1 || code.length) + 1;
    if (code[at] === '/' && /(^|[=(,:;!&|?{}[\n+\-*%~^<>]|\b(return|typeof|case|in|of|void|delete))\s*$/.test(before))
        return at + (/^\/(\\.|\[(\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/.exec(code.slice(at)) || ['/'])[0].length;
    if (!'\'"`'.includes(code[at]))
        return at;
    for (let i = at + 1; i < code.length; i++) {
        if (code[i] === '\\')
            i++;
        else if (code[i] === code[at])
            return i + 1;
        else if (code[i] === '\n' && code[at] !== '`')
            return i;
    }
    return code.length;
}

/* `import a, { b as c } from 'd'` as a declaration with `await`, on as many lines. */
function staticImport(text, clause, name) {
    const names = [];
    let space = (/\*\s*as\s+([\w$]+)/.exec(clause || '') || [])[1];
    const first = /^[\w$]+/.exec((clause || '').trim());
    if (first)
        names.push(`default: ${first[0]}`);
    const braces = /\{([^}]*)\}/.exec(clause || '');
    if (braces)
        names.push(...braces[1].split(',').map((word) => word.trim().replace(/^type\s+/, '')).filter(Boolean)
            .map((word) => word.replace(/\s+as\s+/, ': ')));
    const lines = '\n'.repeat(text.split('\n').length - 1);
    const load = `await ${IMPORT}(${name})`;
    if (space)
        return `const ${space} = ${load}${names.length ? `, {${names.join(', ')}} = ${space}` : ''};${lines}`;
    return `${names.length ? `const {${names.join(', ')}} = ` : ''}${load};${lines}`;
}

/* V8's mode for prompts has no modules: imports become calls, and `export` is dropped. */
function withoutModules(code) {
    if (!/\b(import|export)\b/.test(code))
        return code;
    let out = '';
    for (let at = 0; at < code.length;) {
        const end = skip(code, at, out.slice(-40));
        if (end > at) {
            out += code.slice(at, end);
            at = end;
            continue;
        }
        const word = /[.\w$]$/.test(out.trimEnd().slice(-1)) && /[.\w$]$/.test(out.slice(-1)) ? null
            : /^[\w$]+/.exec(code.slice(at));
        if (!word) {
            out += code[at++];
            continue;
        }
        const rest = code.slice(at);
        const whole = /^import\s*(?:([\w$*{][^'";()]*?)\s*from\s*)?(('|")(?:\\.|[^\\\n])*?\3)/.exec(rest);
        if (word[0] === 'import' && /^import\s*\(/.test(rest) && !/\.\s*$/.test(out)) {
            out += IMPORT;
            at += 6;
        } else if (whole && /(^|[;}\n])\s*$/.test(out)) {
            out += staticImport(whole[0], whole[1], whole[2]);
            at += whole[0].length;
        } else if (/^export\s+(const|let|var|function|class|async)\b/.test(rest) && /(^|[;}\n])\s*$/.test(out)) {
            out += '      ';
            at += 6;
        } else {
            out += word[0];
            at += word[0].length;
        }
    }
    return out;
}

/* Resolves as a module in the current directory would. */
function load(name, options) {
    const here = path.join(process.cwd(), 'cell.mjs');
    const loader = vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
    if (loader)
        return new vm.Script('(name, options) => import(name, options)',
            { filename: here, importModuleDynamically: loader }).runInThisContext()(name, options);
    if (Module.builtinModules.includes(name.replace(/^node:/, '')))
        return import(name);
    return import(pathToFileURL(Module.createRequire(here).resolve(name)).href, options);
}

function stripTypes(code, number) {
    const done = spawnSync(esbuild, ['--loader=ts', '--target=esnext', '--sourcemap=inline', `--sourcefile=cell-${number}`,
        '--tsconfig-raw={"compilerOptions":{"verbatimModuleSyntax":true}}', '--log-level=error', '--color=false'],
    { input: code, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
    if (done.status !== 0) {
        const error = new SyntaxError((/ERROR\] (.*)/.exec(done.stderr) || ['', 'esbuild failed'])[1]);
        const place = /:(\d+):\d+:/.exec(done.stderr);
        throw Object.assign(error, { stack: done.stderr.trim(), line: place ? Number(place[1]) : 1 });
    }
    const [text, map] = done.stdout.split('//# sourceMappingURL=data:application/json;base64,');
    maps.set(number, new Module.SourceMap(parse(Buffer.from(map, 'base64'))));
    return text;
}

/* Places in TypeScript as the user wrote it. */
const mapped = (text) => text.replace(/cell-(\d+):(\d+):(\d+)/g, (place, cell, line, column) => {
    const map = maps.get(Number(cell));
    const entry = map && map.findEntry(line - 1, column - 1);
    return entry && 'originalLine' in entry ? `cell-${cell}:${entry.originalLine + 1}:${entry.originalColumn + 1}` : place;
});

function compiles(code) {
    try {
        new vm.Script(code);
        return true;
    } catch {
        return false;
    }
}

function prepare(code, number) {
    const text = withoutModules(esbuild ? stripTypes(code, number) : code);
    // What looks like an object is one, not a block.
    const object = /^\s*\{[^]*\}\s*$/.test(text) && compiles(`(${text}\n)`);
    return `${object ? `(${text}\n)` : text}\n//# sourceURL=cell-${number}`;
}

/* Under Node's watch of signals: one breaks the code off.  False: it did. */
function runWatched(number, begin) {
    Object.defineProperty(globalThis, '$begin', { value: begin, configurable: true });
    Atomics.store(shared, UNDER_WATCH, number);
    try {
        caller.runInThisContext({ breakOnSigint: true });
    } catch (error) {
        if (error.code !== 'ERR_SCRIPT_EXECUTION_INTERRUPTED')
            throw error;
        return false;
    } finally {
        Atomics.store(shared, UNDER_WATCH, 0);
        Atomics.notify(shared, UNDER_WATCH);
    }
    return true;
}

function framesOf(stack) {
    const frames = [];
    for (const line of stack.split('\n')) {
        const match = /^\s+at (?:(.*) \()?(.*?):(\d+):\d+\)?$/.exec(line);
        if (match)
            frames.push({ file: match[2], line: Number(match[3]), function: match[1] || '' });
    }
    return frames;
}

/* A stack without our own frames and Node's below them. */
function ownStack(error) {
    const lines = String(error.stack).split('\n');
    const ours = lines.findIndex((line) => /^\s+at .*(node:inspector|session-node\.cjs|node:vm:)/.test(line));
    return mapped((ours < 0 ? lines : lines.slice(0, ours)).join('\n'));
}

/* Writes an error as Node does, and gives it as data. */
function complain(error, details) {
    if (!util.types.isNativeError(error) && !(error instanceof Error)) {
        stderr(`Uncaught ${show(error)}\n`);
        return { type: 'Uncaught', message: show(error), frames: [] };
    }
    const stack = ownStack(error);
    const frames = framesOf(stack);
    let text = stack;
    if (error.name === 'SyntaxError' && !frames.length && details)
        frames.push({ file: `cell-${running}`, line: error.line || (details.lineNumber || 0) + 1, function: '' });
    if (error.name === 'SyntaxError' && frames.length && !error.line)
        text = `${frames[0].file}:${frames[0].line}\n${stack}`;
    const extra = Object.keys(error).length && !error.line ? ` ${show({ ...error })}` : '';
    stderr(`Uncaught ${text}${extra}\n`);
    return { type: String(error.name), message: String(error.message), frames };
}

function threads() {
    try {
        return readdirSync('/proc/self/task');
    } catch {
        return [];
    }
}

function openThread(before, thread) {
    try {
        if (before >= 0)
            closeSync(before);
        return openSync(`/proc/self/task/${thread}/stat`);
    } catch {
        return -1;
    }
}

function isAsleep(thread) {
    try {
        return thread < 0 || saying.toString('latin1', 0, readSync(thread, saying, 0, saying.length, 0)).includes(ASLEEP);
    } catch {
        return true; // a cell closed it
    }
}

/* A signal that came before this cell goes through Node's thread, and from there to ours.  On a busy machine they take
 * it up later than this one takes up the next cell, which would then be interrupted. */
function awaitSignals() {
    if (watcher && watching < 0 && Atomics.load(shared, THREAD))
        watching = openThread(-1, Atomics.load(shared, THREAD));
    for (const thread of [taker, watching])
        for (let i = 0; i < ASLEEP_TRIES && !isAsleep(thread); i++)
            Atomics.wait(nothing, 0, 0, 1);
}

/* `breakOnSigint` takes Node's own watch of SIGINT, and gives it back after the cell.  A signal that comes in between
 * has its default action, which ends the kernel.  So the watch is taken once and kept; what it sees while no code
 * computes is asked for. */
function takeSignals() {
    const { startSigintWatchdog: start, stopSigintWatchdog: stop } = process.binding('contextify');
    const before = threads();
    start();
    taker = openThread(taker, threads().find((thread) => !before.includes(thread)));
    interrupted = () => {
        start();
        return stop();
    };
    return stop;
}

/* A handler of a cell has taken the signal from Node's watch, which gets it back only when nobody watches. */
function setWatch(state) {
    if (!watcher)
        return;
    Atomics.store(shared, WATCH, state);
    Atomics.notify(shared, WATCH);
    if (state === LET_GO_NOW)
        Atomics.wait(shared, WATCH, state, 5 * PATIENCE_MS);
}

/* An interrupt is for the cell, whatever cells before it have done; what came before it is not for it.  One look
 * may be broken off, so there are two. */
function watchSignals() {
    if (!interrupted) {
        if (!process.listeners('SIGINT').includes(onInterrupt))
            process.on('SIGINT', onInterrupt);
    } else {
        if (process.listenerCount('SIGINT')) {
            process.removeAllListeners('SIGINT');
            setWatch(LET_GO_NOW);
            giveBack();
            giveBack = takeSignals();
            setWatch(WATCHES);
        }
        interrupted();
    }
    looks = [LOOK_MS, LOOK_MS + 3].map((time) => setInterval(look, time));
}

function look() {
    if (ending)
        endCell(running, ...ending);
    else if ((interrupted && interrupted()) || Atomics.load(shared, ASKED) === running)
        onInterrupt();
}

/* What a cell computes after its first `await`, and in callbacks, is not under Node's watch of signals.  A thread is:
 * it asks this one to end the cell, and breaks the code off that does not let this one hear. */
function watchCallbacks(code) {
    if (watcher || !LATER.test(code))
        return;
    watcher = new Worker(WATCHER, { eval: true, workerData: shared, stdout: true, stderr: true });
    watcher.unref();
    watcher.on('error', () => {}); // cells then end at their next `await`, as without it
    watcher.on('message', (cell) => {
        Atomics.add(shared, HEARD, 1);
        Atomics.notify(shared, HEARD);
        if (cell && cell === running)
            onInterrupt();
        if (!running)
            changeCell(0, 0);
    });
}

/* Code that is broken off takes with it what waits in the queue of promises, so no step of a cell is left to them. */
function execute(number, code) {
    let answer, begun = false;
    running = number;
    watchCallbacks(code);
    watchSignals();
    attempt(number, () => {
        const expression = prepare(code, number);
        session.post('Runtime.evaluate', { expression, replMode: true, awaitPromise: true, objectGroup: 'cell' },
            (...given) => {
                answer = given;
                if (begun)
                    conclude(number, ...answer);
            });
    });
    begun = true;
    if (answer)
        conclude(number, ...answer);
}

/* A part of a cell.  The end of the cell is sent outside of the watch, so that it is whole. */
function attempt(number, part) {
    let status = 'interrupted', details = {};
    try {
        if (runWatched(number, part))
            return true;
    } catch (error) {
        status = 'error';
        details = complain(error, {});
    }
    endCell(number, status, details);
    return false;
}

const wasBrokenOff = (error) => error.code === 'ERR_INSPECTOR_COMMAND' && /Execution was terminated/.test(error.message);

function conclude(number, error, result) {
    let status = 'ok', details = {};
    if (number !== running || ending)
        return; // it was given up
    if (error && wasBrokenOff(error)) {
        onInterrupt();
        return;
    }
    const shown = attempt(number, () => {
        if (error)
            throw error;
        const value = valueOf(result.result);
        if (result.exceptionDetails) {
            details = complain(value, result.exceptionDetails);
            status = 'error';
        } else if (value !== undefined) {
            globalThis._ = value;
            send('display', number, '-', { 'text/plain': show(value) });
        }
    });
    if (shown)
        endCell(number, status, details);
}

/* False while the thread breaks code off: it must be nothing of another cell, and not the end of this one.  What it
 * asked for comes in the loop at the latest, and ends what called this. */
function changeCell(from, to) {
    const broken = Atomics.load(shared, CELL) === BROKEN;
    for (let i = 0; broken && i < 1000; i++)
        ;
    const before = broken ? BROKEN : from;
    const changed = Atomics.compareExchange(shared, CELL, before, to) === before;
    Atomics.notify(shared, CELL);
    return changed;
}

/* Once for each cell.  `look` calls again when it has to wait. */
function endCell(number, status, details) {
    if (number !== running)
        return;
    if (!changeCell(number, 0)) {
        ending = [status, details];
        return;
    }
    ending = null;
    looks.forEach(clearInterval);
    if (status === 'interrupted')
        stderr('Interrupted\n');
    post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
    send('done', number, status, details);
    running = 0;
    serving = false;
    if (frames.length)
        setImmediate(serveNext);
}

function onInterrupt() {
    if (running && !ending)
        endCell(running, 'interrupted', {});
}

function check(code) {
    let text = code;
    if (esbuild) {
        const done = spawnSync(esbuild, ['--loader=ts', '--log-level=error', '--color=false'], { input: code, encoding: 'utf8' });
        if (done.status !== 0)
            return [/Unexpected end of file|Unterminated (template|multi)|but found end of file/.test(done.stderr)
                ? 'incomplete' : 'invalid', {}];
        text = done.stdout;
    }
    text = withoutModules(text);
    const end = /Unexpected end of input|Unterminated template|missing \) after argument list/;
    let message = '';
    for (const attempt of [text, `(async () => {\n${text}\n})`]) {
        try {
            new vm.Script(attempt);
            return ['complete', {}];
        } catch (error) {
            message = message || (/^await is only/.test(error.message) ? '' : error.message);
        }
    }
    // `await` hides the end of the input: an end that is given is then what is missing.
    const open = end.test(message) || /\/\*(?![^]*\*\/)/.test(text) || [')', '}', ']', '`'].some((sign) =>
        /\bawait\b/.test(text) && compiles(`(async () => {\n${text}${sign}\n})`));
    return [open ? 'incomplete' : 'invalid', { indent: '' }];
}

function propertiesOf(value) {
    const names = new Set();
    for (let at = Object(value), depth = 0; at && depth < 10; at = Object.getPrototypeOf(at), depth++)
        Object.getOwnPropertyNames(at).forEach((name) => /^[A-Za-z_$][\w$]*$/.test(name) && names.add(name));
    return names;
}

function complete(code, cursor) {
    const text = Buffer.from(code).subarray(0, cursor).toString();
    const [, object, word] = /(?:((?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*)\.)?([A-Za-z_$][\w$]*)?$/.exec(text);
    let names = [];
    if (object) {
        const found = post('Runtime.evaluate', { expression: object, throwOnSideEffect: true, objectGroup: 'ask' });
        if (found.result && !found.exceptionDetails && found.result.type !== 'undefined')
            names = [...propertiesOf(valueOf(found.result))];
    } else if (word) {
        names = [...Object.getOwnPropertyNames(globalThis), ...post('Runtime.globalLexicalScopeNames', {}).names];
    }
    post('Runtime.releaseObjectGroup', { objectGroup: 'ask' });
    const matches = [...new Set(names)].filter((name) => name.startsWith(word || '') && name !== IMPORT).sort().slice(0, 500);
    return { matches, start: cursor - Buffer.byteLength(word || '') };
}

function variables() {
    const names = [...Object.getOwnPropertyNames(globalThis).filter((name) => !known.has(name)),
        ...post('Runtime.globalLexicalScopeNames', {}).names];
    const vars = [];
    for (const name of new Set(names)) {
        const found = post('Runtime.evaluate', { expression: name, objectGroup: 'ask' });
        if (!found.result || found.exceptionDetails)
            continue;
        const value = valueOf(found.result);
        const text = inspect(value, { depth: 1, breakLength: Infinity, maxArrayLength: 20, maxStringLength: SHORT });
        vars.push({ name, type: found.result.className || found.result.type, size: text.length,
            value: text.length > SHORT ? `${text.slice(0, SHORT - 3)}...` : text });
    }
    post('Runtime.releaseObjectGroup', { objectGroup: 'ask' });
    return { vars };
}

/* Packages there are found, after those that are found without: by `require`, and by `import` in cells and files. */
function searchIn(directory) {
    const find = Module._resolveLookupPaths, more = path.join(directory, 'node_modules');
    given.add(directory);
    Module._resolveLookupPaths = (request, parent) => {
        const paths = find(request, parent);
        return paths && !/^[./]/.test(request) ? [...paths, more] : paths;
    };
    if (Module.register)
        Module.register(`data:text/javascript,${encodeURIComponent(RESOLVER)}`, { data: pathToFileURL(more).href });
}

const questions = {
    check: (code) => check(code),
    complete: (code, argument) => ['ok', complete(code, Number(argument))],
    vars: () => ['ok', variables()],
    path: (directory) => {
        if (!given.has(directory))
            searchIn(directory);
        return ['ok', {}];
    },
};

/* One frame after the other.  A cell waits while the thread breaks off what an earlier one left. */
function serveNext() {
    while (!serving && frames.length) {
        const frame = frames[0];
        if (frame.word === 'execute')
            awaitSignals();
        if (frame.word === 'execute' && !changeCell(0, frame.number)) {
            [LOOK_MS, LOOK_MS + 3].forEach((time) => setTimeout(serveNext, time));
            return;
        }
        frames.shift();
        if (frame.word === 'execute') {
            serving = true;
            columns = Number(frame.argument) || 0;
            execute(frame.number, frame.payload);
        } else {
            answerFrame(frame);
        }
    }
}

function answerFrame({ word, number, argument, payload }) {
    if (word === 'input') // the cell that asked was interrupted meanwhile
        return;
    let answer = ['invalid', { message: `this kernel does not know '${word}'` }];
    try {
        answer = questions[word] ? questions[word](payload, argument) : answer;
    } catch (error) {
        answer = ['invalid', { message: String(error) }];
    }
    send('answer', number, answer[0], answer[1]);
}

function readFrames(socket) {
    let waiting = Buffer.alloc(0);
    socket.on('data', (data) => {
        waiting = Buffer.concat([waiting, data]);
        for (let end; (end = waiting.indexOf(10)) >= 0;) {
            const [word, number, argument, length] = waiting.toString('latin1', 0, end).split(' ');
            if (!(Number(length) <= LARGEST))
                process.reallyExit(1);
            if (waiting.length < end + 1 + Number(length))
                break;
            const payload = waiting.toString('utf8', end + 1, end + 1 + Number(length));
            waiting = waiting.subarray(end + 1 + Number(length));
            frames.push({ word, number: Number(number), argument, payload });
        }
        serveNext();
    });
    socket.on('end', () => process.exit(0));
    socket.on('error', () => process.exit(1));
}

/* Node calls the means by which a cell imports experimental; that is not the user's business. */
function silence() {
    const { emitWarning } = process;
    process.emitWarning = function (warning, ...rest) {
        if (!String(warning).includes('USE_MAIN_CONTEXT_DEFAULT_LOADER'))
            emitWarning.call(process, warning, ...rest);
    };
}

/* Node loads parts of its own when output first needs them.  An interrupt there leaves a part half loaded, and all
 * output that needs it fails from then on; so no cell is the first. */
function loadOutput() {
    const nowhere = { write: () => true, on() {}, once() {}, removeListener() {}, listenerCount: () => 0 };
    const { log, table } = new console.Console({ stdout: nowhere, stderr: nowhere });
    log(1, {}, new Error('none'));
    table([[1]]);
    for (const stream of [process.stdout, process.stderr])
        stream._handle?.setBlocking?.(true); // else a full pipe has the rest written after the cell's end
}

function main() {
    silence();
    fitTables(console);
    loadOutput();
    delete process.env.SANDBOX_RUN_KERNEL_FD;
    process.argv.length = 1;
    session.connect();
    giveInput();
    const require = Module.createRequire(path.join(process.cwd(), 'cell.js'));
    for (const [name, value] of Object.entries({ [IMPORT]: load, require, display, module: { exports: {} } }))
        Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
    try {
        giveBack = takeSignals();
    } catch { // another Node
        process.on('SIGINT', onInterrupt);
    }
    process.on('uncaughtException', (error) => complain(error));
    process.on('exit', (code) => {
        if (running)
            send('done', running, 'exit', { code: Number(process.exitCode ?? code) & 255 });
    });
    known = new Set([...Object.getOwnPropertyNames(globalThis), '_', '$begin', '$give']);
    readFrames(new net.Socket({ fd: channel, readable: true, writable: true }));
    send('ready', 0, '-', { version: process.versions.node, can: ['check', 'complete', 'vars', 'path'], pid: process.pid });
}

main();
