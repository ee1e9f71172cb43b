#include "work/call_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonw.h"
#include "base/scope.h"

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define REPORT "/work/" TEST_RUNNER_REPORT
#define PYTHON_DRIVER ".sandbox-run-calls.py"
#define RUBY_DRIVER ".sandbox-run-calls.rb"

const char calls_languages[] = "python, javascript, typescript, ruby and go";

/* Each report is TAP.  It is written line by line, so that a call that never ends leaves the lines
 * before it. */
static const char python_driver[] =
    "import doctest, importlib.util, os, sys\n"
    "path, mode, rest = sys.argv[1], sys.argv[2], sys.argv[3:]\n"
    "report = open('" REPORT "', 'w', buffering=1, encoding='utf-8', errors='replace')\n"
    "count = 0\n"
    "failed = False\n"
    "def say(ok, name, why=''):\n"
    "    global count, failed\n"
    "    count += 1\n"
    "    failed = failed or not ok\n"
    "    text = ' '.join(name.split()).replace('\\\\', '\\\\\\\\').replace('#', '\\\\#')\n"
    "    lines = [('' if ok else 'not ') + f'ok {count} - {text}']\n"
    "    lines += ['# ' + line for line in (why.splitlines() if not ok else [])]\n"
    "    report.write('\\n'.join(lines) + '\\n')\n"
    "def load():\n"
    "    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))\n"
    "    name = os.path.splitext(os.path.basename(path))[0]\n"
    "    spec = importlib.util.spec_from_file_location(name, path)\n"
    "    module = importlib.util.module_from_spec(spec)\n"
    "    sys.modules[name] = module\n"
    "    spec.loader.exec_module(module)\n"
    "    return module\n"
    "def examples(module):\n"
    "    for found in doctest.DocTestFinder().find(module):\n"
    "        if not found.examples:\n"
    "            continue\n"
    "        out = []\n"
    "        runner = doctest.DocTestRunner(verbose=False)\n"
    "        runner.run(found, out=out.append)\n"
    "        say(not runner.failures, found.name, ''.join(out).lstrip('*\\n'))\n"
    "def calls(module):\n"
    "    for text, left, right in zip(rest[0::3], rest[1::3], rest[2::3]):\n"
    "        try:\n"
    "            got = eval(left, vars(module))\n"
    "            wanted = eval(right, vars(module)) if right else True\n"
    "            ok = bool(got == wanted) if right else bool(got)\n"
    "            say(ok, text, f'{left.strip()} is {got!r}')\n"
    "        except Exception as why:\n"
    "            say(False, text, f'{type(why).__name__}: {why}')\n"
    "try:\n"
    "    code = load()\n"
    "except BaseException as why:\n"
    "    say(False, f'load {path}', f'{type(why).__name__}: {why}')\n"
    "else:\n"
    "    examples(code) if mode == 'examples' else calls(code)\n"
    "sys.exit(1 if failed else 0)\n";

static const char ruby_driver[] =
    "path, mode, *rest = ARGV\n"
    "ARGV.clear\n"
    "report = File.open('" REPORT "', 'w')\n"
    "report.sync = true\n"
    "count = 0\n"
    "failed = false\n"
    "say = lambda do |ok, name, why|\n"
    "  count += 1\n"
    "  failed ||= !ok\n"
    "  text = name.split.join(' ').gsub(/[\\\\#]/) { |c| '\\\\' + c }\n"
    "  report.puts(\"#{ok ? '' : 'not '}ok #{count} - #{text}\")\n"
    "  why.each_line { |line| report.puts('# ' + line.chomp) } unless ok\n"
    "end\n"
    "begin\n"
    "  load File.expand_path(path)\n"
    "  rest.each_slice(3) do |text, left, right|\n"
    "    begin\n"
    "      got = TOPLEVEL_BINDING.eval(left)\n"
    "      ok = right.empty? ? got : got == TOPLEVEL_BINDING.eval(right)\n"
    "      say.call(ok, text, \"#{left.strip} is #{got.inspect}\")\n"
    "    rescue Exception => e\n"
    "      say.call(false, text, \"#{e.class}: #{e.message}\")\n"
    "    end\n"
    "  end\n"
    "rescue Exception => e\n"
    "  say.call(false, \"load #{path}\", \"#{e.class}: #{e.message}\")\n"
    "end\n"
    "exit(failed ? 1 : 0)\n";

/* Behind the code, in its own scope, so that it need not export anything. */
static const char script_end[] =
    "];\n"
    "import('node:fs').then(async (fs) => {\n"
    "  const { isDeepStrictEqual, inspect } = await import('node:util');\n"
    "  let count = 0, failed = false;\n"
    "  for (const [text, left, right] of __sandbox_run_calls) {\n"
    "    let ok = false, why = '';\n"
    "    try {\n"
    "      const got = await left();\n"
    "      const wanted = right ? await right() : true;\n"
    "      ok = right ? got === wanted || isDeepStrictEqual(got, wanted) : Boolean(got);\n"
    "      why = `${right ? text.split('==')[0].trim() : text} is ${inspect(got)}`;\n"
    "    } catch (e) { why = String(e); }\n"
    "    failed = failed || !ok;\n"
    "    const name = text.replace(/\\s+/g, ' ').replace(/[\\\\#]/g, '\\\\$&');\n"
    "    const lines = [`${ok ? '' : 'not '}ok ${++count} - ${name}`];\n"
    "    if (!ok) lines.push(...why.split('\\n').map((line) => '# ' + line));\n"
    "    fs.appendFileSync('" REPORT "', lines.join('\\n') + '\\n');\n"
    "  }\n"
    "  process.exitCode = failed ? 1 : 0;\n"
    "});\n";

/* Rustdoc's examples use the code as a library. */
#define RUSTDOC                                                                                    \
    "set -- --edition 2021 --crate-name code \"$1\" && "                                           \
    "rustc --crate-type lib -o /tmp/libcode.rlib \"$@\" && "                                       \
    "exec rustdoc --test --extern code=/tmp/libcode.rlib \"$@\""
#define GO_MODULE                                                                                  \
    "cd \"$(dirname \"$1\")\" && if [ \"$(go env GOMOD)\" = /dev/null ]; "                         \
    "then go mod init program 2> /dev/null; fi && "
/* Go takes examples of files of tests only; the file's other name is inside alone. */
#define GO_EXAMPLES                                                                                \
    "case $1 in *_test.go) ;; *) mv \"$1\" \"${1%.go}_test.go\" ;; esac; " GO_MODULE               \
    "exec go test -json -vet=off -run '^Example' ."
#define GO_CALLS GO_MODULE "exec go test -vet=off -run '^TestSandboxRunCalls$' ."

/* clang-format off */
static const struct calls_way ways[] = {
    { .language = "python",
      .runner = { "python", "python", WORDS("python3", PYTHON_DRIVER), test_report_parse_tap,
                  REPORT_IN_FILE, NULL, NULL },
      .driver_name = PYTHON_DRIVER, .driver = python_driver, .example = ">>>", .use = CALLS_BOTH },
    { .language = "ruby",
      .runner = { "ruby", "ruby", WORDS("ruby", RUBY_DRIVER), test_report_parse_tap,
                  REPORT_IN_FILE, NULL, NULL },
      .driver_name = RUBY_DRIVER, .driver = ruby_driver, .use = CALLS_BOTH },
    { .language = "javascript",
      .runner = { "javascript", "javascript", NULL, test_report_parse_tap, REPORT_IN_FILE, NULL,
                  NULL },
      .arrows = true, .use = CALLS_BOTH },
    { .language = "typescript",
      .runner = { "typescript", "typescript", NULL, test_report_parse_tap, REPORT_IN_FILE, NULL,
                  NULL },
      .arrows = true, .use = CALLS_BOTH },
    { .language = "go",
      .runner = { "go", "go", WORDS("sh", "-c", GO_CALLS, "calls"), test_report_parse_tap,
                  REPORT_IN_FILE, NULL, NULL },
      .beside = true, .use = CALLS_GIVEN },
    { .language = "go",
      .runner = { "go", "go", WORDS("sh", "-c", GO_EXAMPLES, "examples"), test_report_parse_go,
                  REPORT_ON_STDOUT, NULL, NULL },
      .example = "\nfunc Example", .use = CALLS_OF_EXAMPLES },
    { .language = "rust",
      .runner = { "rustdoc", "rust", WORDS("sh", "-c", RUSTDOC, "examples"),
                  test_report_parse_cargo, REPORT_ON_STDOUT, NULL, NULL },
      .example = "/// ```", .use = CALLS_OF_EXAMPLES },
};
/* clang-format on */

const struct calls_way *calls_way_find(const char *language, enum calls_use use)
{
    for (size_t i = 0; language && i < ARRAY_LEN(ways); i++)
        if (!strcmp(ways[i].language, language) && ways[i].use & use)
            return &ways[i];
    return NULL;
}

/* Behind a quoted text; the end of the line when it is not closed. */
static size_t skip_quoted(const char *text, size_t at)
{
    char quote = text[at++];

    while (text[at] && text[at] != quote)
        at += text[at] == '\\' && text[at + 1] ? 2 : 1;
    return text[at] ? at + 1 : at;
}

/* Where the first `==` outside of brackets and quotes is; the text's length: nowhere. */
static size_t find_equals(const char *text)
{
    int depth = 0;
    size_t at = 0;

    while (text[at]) {
        if (strchr("'\"`", text[at])) {
            at = skip_quoted(text, at);
            continue;
        }
        depth += strchr("([{", text[at]) != NULL;
        depth -= strchr(")]}", text[at]) != NULL;
        if (depth == 0 && at && text[at] == '=' && text[at + 1] == '=' &&
            !strchr("!<>=", text[at - 1]))
            return at;
        at++;
    }
    return at;
}

int calls_add(struct calls *calls, const char *text, sbr_error *err)
{
    struct call *grown = reallocarray(calls->items, calls->n + 1, sizeof(*grown));
    size_t at = find_equals(text), behind = at + strspn(text + at, "=");
    struct call call = { .text = strdup(text), .left = strndup(text, at) };

    if (text[at])
        call.right = strdup(text + behind);
    if (grown)
        calls->items = grown;
    if (!grown || !call.text || !call.left || (text[at] && !call.right)) {
        free(call.text);
        free(call.left);
        free(call.right);
        return err_set_oom(err, "calls");
    }
    grown[calls->n++] = call;
    return 0;
}

static int add_arrow(struct calls *calls, const char *line, size_t len, sbr_error *err)
{
    const char *arrow = memmem(line, len, "// =>", 5), *wanted;
    scoped_free char *text = NULL;
    struct buf whole;
    int r;

    if (!arrow)
        arrow = memmem(line, len, "//=>", 4);
    if (!arrow)
        return 0;
    wanted = (const char *)memchr(arrow, '>', 5) + 1;
    while (len && (*line == '*' || *line == ' ')) {
        line++;
        len--;
    }
    buf_init(&whole, 4096);
    while (arrow > line && strchr(" ;", arrow[-1]))
        arrow--;
    buf_add(&whole, line, (size_t)(arrow - line));
    buf_add_text(&whole, " ==");
    buf_add(&whole, wanted, (size_t)(line + len - wanted));
    text = whole.failed ? NULL : buf_take(&whole, NULL);
    r = text ? calls_add(calls, text, err) : 0; /* one of that length is no example */
    buf_done(&whole);
    return r;
}

int calls_add_arrows(struct calls *calls, const char *code, size_t len, sbr_error *err)
{
    for (size_t at = 0; at < len;) {
        const char *line = code + at, *end = memchr(line, '\n', len - at);
        size_t n = end ? (size_t)(end - line) : len - at, from = 0;

        at += n + 1;
        while (from < n && strchr(" \t", line[from]))
            from++;
        if (from < n && line[from] == '*' && add_arrow(calls, line + from, n - from, err) < 0)
            return err->code;
    }
    return 0;
}

void calls_done(struct calls *calls)
{
    for (size_t i = 0; i < calls->n; i++) {
        free(calls->items[i].text);
        free(calls->items[i].left);
        free(calls->items[i].right);
    }
    free(calls->items);
    *calls = (struct calls){ 0 };
}

int calls_append(const struct calls *calls, const char *code, size_t len, struct buf *out)
{
    buf_add(out, code, len);
    buf_add_text(out, "\n;const __sandbox_run_calls = [\n");
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->items[i];
        scoped_free char *text = NULL;
        struct jsonw j;

        jsonw_init(&j, false);
        jsonw_text(&j, NULL, call->text);
        text = jsonw_take(&j);
        buf_printf(out, "[%s, () => (%s), ", text ? text : "''", call->left);
        if (call->right)
            buf_printf(out, "() => (%s)],\n", call->right);
        else
            buf_add_text(out, "null],\n");
    }
    return buf_add_text(out, script_end);
}
