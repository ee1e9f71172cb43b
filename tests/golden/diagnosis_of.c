/* diagnosis_of < CASES.json: what each recorded message is taken for.
 *
 * The diagnosis makes no system call, so a compiler's words are as good from a file as from the compiler.
 * A case is {"request": {...}, "texts": [...], "compile": true or false}, with an "ending" where the program
 * did not exit; the first of its texts in which a rule finds something counts.  Prints an array with a
 * diagnosis or null for each. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "explain/diagnose.h"

#define MAX_CASES (64u << 20)

static int bad_case(const char *what, sbr_error *err)
{
    return err_set(err, SBR_E_INVALID, "case", "a case has %s", what);
}

static struct diagnosis *first_of(const json_t *texts, struct diagnose_input *in)
{
    struct diagnosis *found = NULL;

    for (size_t i = 0; !found && i < json_array_size(texts); i++) {
        in->text = json_string_value(json_array_get(texts, i));
        in->len = json_string_length(json_array_get(texts, i));
        found = diagnose(in);
    }
    return found;
}

static int put_case(struct jsonw *j, json_t *object, sbr_error *err)
{
    json_t *wanted, *texts;
    const char *ending = NULL;
    int compile = 0, r;
    scoped_free char *json = NULL;
    sbr_request *req;

    if (json_unpack(object, "{s:o, s:o, s:b, s?:s !}", "request", &wanted, "texts", &texts,
                    "compile", &compile, "ending", &ending) != 0)
        return bad_case("a field too many, too few or of another type", err);
    json = json_dumps(wanted, JSON_COMPACT);
    if (!json)
        return bad_case("no request", err);
    r = request_from_json(json, strlen(json), &req, err);
    if (r < 0)
        return r;
    struct diagnose_input in = { .language = language_find(req->language),
                                 .compile = compile,
                                 .request = req,
                                 .work = "/work",
                                 .driver = "/driver",
                                 .ending = ending };
    if (in.language) {
        in.main_file = req->code ? in.language->source : req->files[0].path;
        struct diagnosis *found = first_of(texts, &in);
        diagnosis_put_json(j, NULL, found);
        diagnosis_free(found);
    }
    r = in.language ? 0 : bad_case("a language that is not there", err);
    request_free(req);
    return r;
}

static int print_all(sbr_error *err)
{
    scoped_free char *input = NULL, *output = NULL;
    struct jsonw j;
    size_t len, i;
    json_t *cases, *one;
    int r = fd_read_text(STDIN_FILENO, MAX_CASES, &input, &len, err);

    if (r < 0)
        return r;
    cases = json_loadb(input, len, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_array(cases))
        return bad_case("no list around it", err);
    jsonw_init(&j, false);
    jsonw_open(&j, NULL, '[');
    json_array_foreach(cases, i, one) {
        if (r == 0)
            r = put_case(&j, one, err);
    }
    jsonw_close(&j, ']');
    output = jsonw_take(&j);
    if (r == 0)
        printf("%s\n", output ? output : "");
    json_decref(cases);
    return r;
}

int main(void)
{
    sbr_error err;

    if (print_all(&err) < 0) {
        fprintf(stderr, "diagnosis_of: %s\n", err.message);
        return 2;
    }
    return 0;
}
