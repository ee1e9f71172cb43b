// Installs packages into TARGET/node_modules with the npm of this Node.
//
// node-install.cjs TARGET [NAME[@VERSION]]...
//
// Installs the words of the command line and the dependencies of a package.json in the current
// directory, and of those below it.  Silent on success; prints npm's messages on failure.
'use strict';
const { spawnSync } = require('node:child_process');
const dns = require('node:dns');
const fs = require('node:fs');
const path = require('node:path');

const [target, ...words] = process.argv.slice(2);
const lockFiles = ['package-lock.json', 'npm-shrinkwrap.json'];

function fail(text) {
    console.error(text);
    process.exit(1);
}

function findNpm() {
    const home = path.dirname(path.dirname(fs.realpathSync(process.execPath)));
    const places = [
        path.join(home, 'lib/node_modules/npm'),
        path.join(home, 'node_modules/npm'),
        '/usr/lib/node_modules/npm',
        '/usr/local/lib/node_modules/npm',
        '/usr/share/nodejs/npm', // Debian's package npm
    ];
    const cli = places.map((place) => path.join(place, 'bin/npm-cli.js')).find((file) => fs.existsSync(file));
    return cli || fail(`${process.execPath} has no npm: install the package npm`);
}

/* A host that is closed to installers is refused at once, but npm would retry after 10 s and
 * again after another minute. */
function patience(env) {
    const files = ['/etc/npmrc', path.join(env.HOME || '/nonexistent', '.npmrc'), env.NPM_CONFIG_USERCONFIG, env.npm_config_userconfig];
    const texts = files.filter((file) => file && fs.existsSync(file)).map((file) => fs.readFileSync(file, 'utf8'));
    const isSet = texts.some((text) => /^\s*fetch-retr/m.test(text)) || Object.keys(env).some((name) => /^npm_config_fetch_retr/i.test(name));
    return isSet ? [] : ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=4000'];
}

function npm(command, options, env) {
    const quiet = ['--loglevel=error', '--no-fund', '--no-audit', '--no-update-notifier', '--no-progress', '--no-color', '--logs-max=0'];
    const result = spawnSync(process.execPath, [findNpm(), command, ...quiet, ...patience(env), ...options], {
        cwd: target,
        env,
        encoding: 'utf8',
        maxBuffer: 64 << 20,
    });
    const text = `${result.stderr || ''}${result.stdout || ''}`.replace(/^npm \S+ Log files were not written.*$/gm, '').trimEnd();
    return { ok: result.status === 0, text: text || String(result.error || '') };
}

/* Those of the project: its own, and those of its workspaces and of packages that stand beside them. */
function findManifests(folder = '.') {
    const found = [];
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
        const file = path.join(folder, entry.name);
        if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
            found.push(...findManifests(file));
        else if (entry.name === 'package.json')
            found.push(file);
    }
    return found;
}

/* The list of pnpm: the lines with a dash below "packages:". */
function workspacesOfPnpm() {
    if (!fs.existsSync('pnpm-workspace.yaml'))
        return undefined;
    const list = /^packages:((?:\s*(?:#.*)?\n\s*-.*)+)/m.exec(fs.readFileSync('pnpm-workspace.yaml', 'utf8') + '\n');
    const names = list ? list[1].split('\n').map((line) => /^\s*-\s*['"]?([^'"#\s]+)/.exec(line)) : [];
    return names.filter((name) => name && !name[1].startsWith('!')).map((name) => name[1]);
}

/* What pnpm and yarn write for packages of the project, in npm's words. */
function inWordsOfNpm(version) {
    return String(version).replace(/^(workspace|catalog):.*/, '*').replace(/^(link|portal):/, 'file:');
}

/* Writes a manifest without the parts that need the project's files, which are not here. */
function bringManifest(file) {
    let manifest = {};
    try {
        manifest = JSON.parse(fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
    } catch (error) {
        fail(`${file}: ${error.message}`);
    }
    for (const part of ['scripts', 'bin', 'files', 'man', 'directories', 'packageManager'])
        delete manifest[part];
    for (const part of ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'])
        for (const [name, version] of Object.entries(manifest[part] || {})) {
            manifest[part][name] = inWordsOfNpm(version);
            bringBeside(path.dirname(file), manifest[part], name);
        }
    if (file === 'package.json' && workspacesOfPnpm())
        manifest.workspaces = workspacesOfPnpm();
    fs.mkdirSync(path.dirname(path.join(target, file)), { recursive: true });
    fs.writeFileSync(path.join(target, file), JSON.stringify(manifest));
}

/* An archive that lies in the project is copied; a directory there has its manifest, or is left out. */
function bringBeside(folder, list, name) {
    if (!list[name].startsWith('file:'))
        return;
    const place = path.join(folder, list[name].slice(5));
    const there = path.join(process.env.PROJECT || '.', place);
    if (place.startsWith('..'))
        delete list[name];
    else if (fs.existsSync(there) && fs.statSync(there).isFile()) {
        fs.mkdirSync(path.dirname(path.join(target, place)), { recursive: true });
        fs.copyFileSync(there, path.join(target, place));
    } else if (!fs.existsSync(path.join(place, 'package.json')))
        delete list[name];
}

function bringManifests() {
    fs.writeFileSync(path.join(target, 'package.json'), '{}');
    findManifests().forEach(bringManifest);
    lockFiles.filter((file) => fs.existsSync(file)).forEach((file) => fs.copyFileSync(file, path.join(target, file)));
}

/* Packages of the project are links, to where the project will be. */
function leadToProject(modules) {
    for (const name of fs.existsSync(modules) ? fs.readdirSync(modules) : []) {
        const link = path.join(modules, name);
        if (name.startsWith('@'))
            leadToProject(link);
        if (!fs.lstatSync(link).isSymbolicLink())
            continue;
        const place = path.relative(target, path.resolve(modules, fs.readlinkSync(link)));
        fs.unlinkSync(link);
        fs.symlinkSync(path.join('/work', place), link);
    }
}

/* Packages of one workspace alone stay beside it: node-command.sh links them. */
function leaveModules() {
    leadToProject(path.join(target, 'node_modules'));
    for (const file of findManifests()) {
        const modules = path.join(target, path.dirname(file), 'node_modules');
        leadToProject(modules);
        fs.rmSync(path.join(target, file), { force: true });
    }
}

/* Settings of the project's own .npmrc, such as legacy-peer-deps.  Its addresses open nothing, and one that is the
 * default must not hide a mirror of the user. */
function bringSettings() {
    if (!fs.existsSync('project.npmrc'))
        return;
    const lines = fs.readFileSync('project.npmrc', 'utf8').split('\n');
    const kept = lines.filter((line) => !/^\s*registry\s*=\s*"?https?:\/\/registry\.npmjs\.org\/?"?\s*$/.test(line));
    fs.writeFileSync(path.join(target, '.npmrc'), kept.join('\n'));
}

const hasLock = () => lockFiles.some((file) => fs.existsSync(path.join(target, file)));

/* A lock that does not match its manifest is not an error. */
function fetchPackages() {
    if (words.length === 0 && hasLock() && npm('ci', ['--ignore-scripts'], process.env).ok)
        return;
    const result = npm('install', ['--ignore-scripts', '--no-package-lock', '--no-save', ...words], process.env);
    if (!result.ok)
        fail(result.text);
}

function needsScripts() {
    try {
        const lock = JSON.parse(fs.readFileSync(path.join(target, 'node_modules/.package-lock.json'), 'utf8'));
        return Object.values(lock.packages).some((entry) => entry.hasInstallScript);
    } catch {
        return true;
    }
}

/* Scripts of packages run after everything is fetched, without a network. */
async function closeNetwork() {
    const closed = await dns.promises.lookup('close.sandbox-run.internal', 4).catch(() => null);
    if (!closed || closed.address !== '127.0.0.1')
        fail('the network could not be given back, so no script of a package was run');
}

function runScripts() {
    const result = npm('rebuild', ['--offline'], process.env);
    if (!result.ok)
        fail(result.text);
}

async function main() {
    bringManifests();
    bringSettings();
    fetchPackages();
    fs.rmSync(path.join(target, '.npmrc'), { force: true });
    const modules = path.join(target, 'node_modules');
    if (fs.existsSync(modules) && needsScripts()) {
        await closeNetwork();
        runScripts();
    }
    leaveModules();
    ['package.json', ...lockFiles].forEach((file) => fs.rmSync(path.join(target, file), { force: true }));
}

for (const word of words) {
    if (/^[-./~]|\s/.test(word))
        fail(`'${word}' is no package: write NAME or NAME@VERSION`);
}
main();
