// Loaded before the program.  Node tells ES modules from CommonJS by their syntax from 20.19 and 22.7 on;
// the versions before get the same here.
'use strict';
const [major, minor] = process.versions.node.split('.').map(Number);
const detects = major > 22 || (major === 22 && minor >= 7) || (major === 20 && minor >= 19);

if (detects) {
    // A package.json without a "type" is no reason to write into the program's stderr.
    const emitWarning = process.emitWarning;
    process.emitWarning = function (warning, ...rest) {
        const code = typeof rest[0] === 'object' ? rest[0] && rest[0].code : rest[1];
        if (code !== 'MODULE_TYPELESS_PACKAGE_JSON')
            return emitWarning.call(process, warning, ...rest);
    };
} else {
    const Module = require('node:module');
    const main = process.argv[1];
    const { isModule } = require('./node-syntax.cjs');
    if (Module.register && main && isModule(main)) {
        const { pathToFileURL } = require('node:url');
        Module.register('./node-loader.mjs', pathToFileURL(__filename));
        Module.runMain = () => import(pathToFileURL(main).href);
    }
}
