// What a program expects of the paths of its files, although it runs from a bundle elsewhere.
// SOURCE is the path of the main file.  The bundle omits names that the program does not use.
export const __filename = SOURCE;
export const __dirname = /* @__PURE__ */ SOURCE.slice(0, SOURCE.lastIndexOf('/'));
export const sandbox_run_url = /* @__PURE__ */ encodeURI('file://' + SOURCE);
// Two objects: only the main file is the main module, and there typescript-build.sh has inserted
// the answer.
export const module = { filename: SOURCE, exports: {} };
export const sandbox_run_main = { filename: SOURCE, exports: {} };
