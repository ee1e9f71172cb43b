// Compiles every file named on the command line, as a module or as CommonJS, and runs none.
// Needs --experimental-vm-modules.
'use strict';
const { spawnSync } = require('node:child_process');
const vm = require('node:vm');
const { compileCommonJS, isModule, readSource } = require('./node-syntax.cjs');

function compile(file) {
    if (isModule(file))
        new vm.SourceTextModule(readSource(file), { identifier: file });
    else
        compileCommonJS(file, readSource(file));
}

/* Only Node itself can print the position of an error in a module, and only if it is uncaught. */
function explain(file) {
    const child = spawnSync(process.execPath, [...process.execArgv, __filename, '--only', file], { encoding: 'utf8' });
    console.error(child.stderr.split(/\n    at |\n\nNode\.js v/)[0]);
}

const files = process.argv.slice(2);
if (files[0] === '--only') {
    compile(files[1]);
} else {
    for (const file of files) {
        try {
            compile(file);
        } catch (error) {
            explain(file);
            process.exitCode = 1;
        }
    }
}
