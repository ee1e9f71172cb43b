// Loaded before the program: V8's own sampling profiler, whose samples become a file at the end.  A line of
// the file is a stack, outermost function first, and its microseconds: FRAME;FRAME;FRAME 1234.
'use strict';
const fs = require('node:fs');
const inspector = require('node:inspector');
const { findSourceMap } = require('node:module');
const path = require('node:path');

const EVERY_US = 1000;
const DEEPEST = 128;

const file = path.resolve(__dirname, '../work/.sandbox-run-profile');

/* As the program's author wrote it, where there is a source map. */
function placeOf({ url, lineNumber, columnNumber }) {
    const at = url.replace(/^file:\/\//, '');
    const map = findSourceMap(at);
    const { originalSource, originalLine } = map ? map.findEntry(lineNumber, columnNumber) : {};
    return originalSource ? `${originalSource.replace(/^file:\/\//, '')}:${originalLine + 1}` : `${at}:${lineNumber + 1}`;
}

function nameOf(callFrame) {
    const { functionName, url } = callFrame;
    const place = url ? ` (${placeOf(callFrame)})` : '';
    return `${functionName || '(anonymous)'}${place}`.replace(/[;\r\n]/g, ',');
}

/* The stacks of the nodes of a profile, by their ids; none while nothing ran, and none of this file. */
function stacksOf(nodes) {
    const byId = new Map(nodes.map(node => [node.id, node]));
    const parents = new Map(nodes.flatMap(node => (node.children || []).map(id => [id, node.id])));
    const stackOf = (id) => {
        const names = [];
        for (; id !== undefined && names.length < DEEPEST; id = parents.get(id)) {
            const { callFrame } = byId.get(id);
            if (callFrame.functionName === '(idle)' || callFrame.url.endsWith(__filename))
                return null;
            if (callFrame.functionName !== '(root)')
                names.push(nameOf(callFrame));
        }
        return names.length ? names.reverse().join(';') : null;
    };
    return new Map(nodes.map(node => [node.id, stackOf(node.id)]));
}

function write({ nodes, samples, timeDeltas }) {
    const stacks = stacksOf(nodes);
    const spent = new Map();
    samples.forEach((id, i) => {
        const stack = stacks.get(id);
        if (stack)
            spent.set(stack, (spent.get(stack) || 0) + Math.max(0, timeDeltas[i]));
    });
    fs.writeFileSync(file, [...spent].map(([stack, us]) => `${stack} ${us}\n`).join(''));
}

const session = new inspector.Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: EVERY_US });
session.post('Profiler.start');
process.on('exit', () => session.post('Profiler.stop', (error, found) => {
    if (!error)
        write(found.profile);
}));
