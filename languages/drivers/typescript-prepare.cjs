// Fetches the compiler (esbuild), the type checker (tsc) and Node's types into TARGET: native
// programs from the packages of this architecture, so that neither needs Node to start.
'use strict';
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const target = process.argv[2];
const [major] = process.versions.node.split('.');
const packages = {
    esbuild: [`@esbuild/linux-${process.arch}`, '0.28.2'],
    tsc: [`@typescript/typescript-linux-${process.arch}`, '7.0.2'],
    types: ['@types/node', major],
};

const words = Object.values(packages).map(([name, version]) => `${name}@${version}`);
const result = spawnSync(process.execPath, [path.join(__dirname, 'node-install.cjs'), target, ...words], { stdio: 'inherit' });
if (result.status !== 0)
    process.exit(1);

/* Uses the same names on every architecture. */
for (const tool of ['esbuild', 'tsc']) {
    const folder = path.join(target, 'node_modules', packages[tool][0]);
    fs.renameSync(folder, path.join(target, tool));
    fs.rmdirSync(path.dirname(folder));
}
