// Loaded before the program.  It costs one millisecond.
'use strict';
const [major, minor] = process.versions.node.split('.').map(Number);

/* V8 does not see the sandbox's limit and lets garbage grow to four times the live data.  An
 * option on the command line would cost six milliseconds, because V8 then refuses Node's
 * precompiled code. */
function boundGarbage(megabytes) {
    if (megabytes <= 1024)
        require('node:v8').setFlagsFromString(`--heap-growing-percent=${megabytes <= 256 ? 50 : 100}`);
}

/* A package.json without a "type" must not cause a warning on the program's stderr. */
function silenceTypeWarning() {
    const emitWarning = process.emitWarning;
    process.emitWarning = function (warning, ...rest) {
        const code = typeof rest[0] === 'object' ? rest[0] && rest[0].code : rest[1];
        if (code !== 'MODULE_TYPELESS_PACKAGE_JSON')
            return emitWarning.call(process, warning, ...rest);
    };
}

/* From 20.19 and 22.7 on, Node detects ES modules by their syntax; this does the same for
 * earlier versions. */
function detectModule(main) {
    const Module = require('node:module');
    const { isModule } = require('./node-syntax.cjs');
    if (Module.register && main && isModule(main)) {
        const { pathToFileURL } = require('node:url');
        Module.register('./node-loader.mjs', pathToFileURL(__filename));
        Module.runMain = () => import(pathToFileURL(main).href);
    }
}

/* Node reads an ES module by its pool of threads, which most programs never need, and which costs
 * more than the rest of the module's start.  The main module is read at once; then nothing is left
 * of this. */
function readMainAtOnce(main) {
    const fs = require('node:fs');
    const url = require('node:url').pathToFileURL(main).href;
    const property = Object.getOwnPropertyDescriptor(fs.promises, 'readFile');
    const readFile = async (file, ...options) => {
        if (String(file) !== url)
            return property.value(file, ...options);
        Object.defineProperty(fs.promises, 'readFile', property);
        return fs.readFileSync(file, ...options);
    };
    Object.defineProperty(fs.promises, 'readFile', { ...property, value: readFile });
}

const setMain = process.argv[1] === `${__dirname}/node-warm.cjs` ? require('./node-warm.cjs') : () => {};
if (process.env.SANDBOX_RUN_MEMORY_MB) {
    boundGarbage(Number(process.env.SANDBOX_RUN_MEMORY_MB));
    delete process.env.SANDBOX_RUN_MEMORY_MB;
}
if (major > 22 || (major === 22 && minor >= 7) || (major === 20 && minor >= 19))
    silenceTypeWarning();
else
    detectModule(process.argv[1]);
/* A worker thread has another main module, and no chdir(). */
if (/\.mjs$/.test(process.argv[1]) && !process.chdir.disabled)
    readMainAtOnce(process.argv[1]);
setMain();
