#include "work/call_go.h"

#include <string.h>

#include "base/jsonw.h"
#include "base/scope.h"

#define REPORT "/work/" TEST_RUNNER_REPORT

/* Both sides have one type, so that a constant becomes that of the other side. */
static const char begin[] =
    "\n"
    "import (\n\t\"fmt\"\n\t\"os\"\n\t\"reflect\"\n\t\"strings\"\n\t\"testing\"\n)\n"
    "\n"
    "func sandboxRunSame[T any](got, wanted T) (bool, string) {\n"
    "\treturn reflect.DeepEqual(got, wanted), fmt.Sprintf(\"%#v\", got)\n"
    "}\n"
    "\n"
    "func TestSandboxRunCalls(t *testing.T) {\n"
    "\treport, problem := os.Create(\"" REPORT "\")\n"
    "\tif problem != nil {\n\t\tt.Fatal(problem)\n\t}\n"
    "\tcount := 0\n"
    "\tcall := func(text, left string, f func() (bool, string)) {\n"
    "\t\tok, why := false, \"\"\n"
    "\t\tfunc() {\n"
    "\t\t\tdefer func() {\n"
    "\t\t\t\tif p := recover(); p != nil {\n\t\t\t\t\twhy = fmt.Sprint(\"panic: \", p)\n\t\t\t\t}\n"
    "\t\t\t}()\n"
    "\t\t\tok, why = f()\n"
    "\t\t\twhy = strings.TrimSpace(left) + \" is \" + why\n"
    "\t\t}()\n"
    "\t\tcount++\n"
    "\t\tname := strings.NewReplacer(\"\\\\\", \"\\\\\\\\\", \"#\", \"\\\\#\").Replace(text)\n"
    "\t\tif ok {\n\t\t\tfmt.Fprintf(report, \"ok %d - %s\\n\", count, name)\n\t\t\treturn\n\t\t}\n"
    "\t\tt.Fail()\n"
    "\t\twhy = strings.ReplaceAll(why, \"\\n\", \"\\n# \")\n"
    "\t\tfmt.Fprintf(report, \"not ok %d - %s\\n# %s\\n\", count, name, why)\n"
    "\t}\n";

/* A string of JSON is one of Go. */
static void add_string(struct buf *out, const char *text)
{
    scoped_free char *quoted = NULL;
    struct jsonw j;

    jsonw_init(&j, false);
    jsonw_text(&j, NULL, text);
    quoted = jsonw_take(&j);
    buf_add_text(out, quoted ? quoted : "\"\"");
}

/* The name behind the first `package` at the start of a line; `main` where there is none. */
static void add_package(struct buf *out, const char *code, size_t len)
{
    static const char word[] = "package ";

    for (const char *at = code; at && at + sizeof(word) < code + len;) {
        if (!memcmp(at, word, sizeof(word) - 1)) {
            const char *name = at + sizeof(word) - 1;

            buf_printf(out, "package %.*s\n", (int)strcspn(name, " \t\r\n/;"), name);
            return;
        }
        at = memchr(at, '\n', (size_t)(code + len - at));
        at = at ? at + 1 : NULL;
    }
    buf_add_text(out, "package main\n");
}

int call_go_write(const struct calls *calls, const char *code, size_t len, struct buf *out)
{
    add_package(out, code, len);
    buf_add_text(out, begin);
    for (size_t i = 0; i < calls->n; i++) {
        const struct call *call = &calls->items[i];

        buf_add_text(out, "\tcall(");
        add_string(out, call->text);
        buf_add_text(out, ", ");
        add_string(out, call->left);
        buf_printf(out, ", func() (bool, string) { return sandboxRunSame(%s, %s) })\n", call->left,
                   call->right ? call->right : "true");
    }
    return buf_add_text(out, "}\n");
}
