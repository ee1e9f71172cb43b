// Makes this Node a zygote: node-warm.cjs has made all ready, and each copy of the process goes on
// from here with a program of its own.  The copies are made by our library (src/worker/node_zygote.c).
'use strict';
const path = require('node:path');

/* From src/wire/zygote.h and src/worker/node_zygote.c. */
const LIBRARY = '/proc/self/fd/5';
const TRIAL = 0;
const SAMPLE = 1;
const ENDLESS = 3;
const TRIAL_CODE = 42;

function loadLibrary() {
    const library = { exports: {} };
    process.dlopen(library, LIBRARY);
    return library.exports;
}

/* A module that adds nothing, by the smallest text. */
const smallestModule = () => new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/* Tells the zygote what this copy drew, and the zygote compares it with what another copy drew. */
function tellDrawn(library) {
    const other = require('node:vm').runInNewContext('Math.random()');
    library.tellDrawn(Math.random(), other, require('node:crypto').randomBytes(6).readUIntLE(0, 6));
}

/* Everything that needs a thread or an event loop; an error, or an end that is not natural, is a
 * copy that does not work. */
async function runTrial(library) {
    const { Worker } = require('node:worker_threads');
    tellDrawn(library);
    await new Promise((resolve) => setTimeout(resolve, 1));
    await require('node:fs').promises.stat('/');
    await WebAssembly.compile(smallestModule());
    const worker = new Worker('require("worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
    const answer = await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject));
    let garbage = [];
    for (let i = 0; i < 2e5; i++)
        garbage = i % 1000 ? [...garbage.slice(-5), { i }] : [];
    if (answer !== 42 || garbage.length === 0)
        throw new Error('a copy of this process does not work');
    process.exitCode = TRIAL_CODE;
}

/* The library finds the place where Node keeps the exit code by its value. */
function showExitCode(library) {
    for (const mark of [0x5eed1e57, 0x3a9be1d3]) {
        process.exitCode = mark;
        library.lookForCode(mark);
    }
    process.exitCode = undefined;
    library.lookForCode();
}

/* What a start of its own would have found. */
function refresh() {
    const property = Object.getOwnPropertyDescriptor(process, 'pid');
    Object.defineProperty(process, 'pid', { ...property, value: Number(require('node:fs').readlinkSync('/proc/self')) });
}

/* Twice, so that all young objects are old: the copies begin with empty room.  Without it the room
 * was so full that V8 collected in every copy that needed a little more than `console.log`. */
function collect() {
    const v8 = require('node:v8');
    v8.setFlagsFromString('--expose-gc');
    const gc = require('node:vm').runInNewContext('gc');
    v8.setFlagsFromString('--no-expose-gc');
    gc({ type: 'minor' });
    gc({ type: 'minor' });
}

/* Returns in each copy: the trial of it, a sample whose pages later ones get at once, or a worker. */
function serve(library) {
    collect();
    showExitCode(library);
    const role = library.serve();
    refresh();
    return role;
}

const sample = path.join(__dirname, 'node-sample.cjs');
const endless = path.join(__dirname, 'node-endless.mjs');

module.exports = { TRIAL, SAMPLE, ENDLESS, endless, loadLibrary, runTrial, sample, serve, tellDrawn };
