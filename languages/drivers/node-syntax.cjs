// Detects ES modules: by the file's name, by the package.json above it, and finally by its syntax,
// as newer versions of Node do.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const signs = [
    'Cannot use import statement outside a module',
    "Unexpected token 'export'",
    "Cannot use 'import.meta' outside a module",
    'await is only valid in async functions and the top level bodies of modules',
    'missing ) after argument list', // await in an argument
    "Unexpected reserved word",
];
const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];

function packageType(file) {
    for (let at = path.dirname(file); ; at = path.dirname(at)) {
        try {
            return JSON.parse(fs.readFileSync(path.join(at, 'package.json'), 'utf8')).type;
        } catch (error) {
            if (error.code !== 'ENOENT' || at === path.dirname(at))
                return undefined;
        }
    }
}

const readSource = (file) => fs.readFileSync(file, 'utf8').replace(/^\uFEFF?#!.*/, '');

/* Throws the compiler's errors. */
const compileCommonJS = (file, source) => vm.compileFunction(source, parameters, { filename: file });

function isModule(file) {
    if (!/\.js$/.test(file))
        return /\.mjs$/.test(file);
    try {
        const type = packageType(file);
        if (type)
            return type === 'module';
        compileCommonJS(file, readSource(file));
    } catch (error) {
        return error instanceof SyntaxError && signs.some((sign) => error.message.startsWith(sign));
    }
    return false;
}

module.exports = { compileCommonJS, isModule, readSource };
