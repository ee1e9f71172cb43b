// What a program expects of the place of its files, although it runs from a bundle elsewhere.  SOURCE is
// the path of the main file.  Names that the program does not use are left out of the bundle.
export const __filename = SOURCE;
export const __dirname = /* @__PURE__ */ SOURCE.slice(0, SOURCE.lastIndexOf('/'));
export const sandbox_run_url = /* @__PURE__ */ encodeURI('file://' + SOURCE);
// Two objects: only the main file is the main module, and there typescript-build.sh has put the answer.
export const module = { filename: SOURCE, exports: {} };
export const sandbox_run_main = { filename: SOURCE, exports: {} };
