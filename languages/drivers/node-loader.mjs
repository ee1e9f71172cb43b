// For versions of Node that always read a .js file as CommonJS.
import { fileURLToPath } from 'node:url';
import syntax from './node-syntax.cjs';

export function load(url, context, next) {
    const own = url.startsWith('file:') && url.endsWith('.js') && !url.includes('/node_modules/');
    if (own && context.format === 'commonjs' && syntax.isModule(fileURLToPath(url)))
        return next(url, { ...context, format: 'module' });
    return next(url, context);
}
