/* Submissions as clients see them: large ones are decoded and written beside the loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "dialect/judge0.h"
#include "http/offload.h"
#include "http/server.h"

#define LARGE ((size_t)256 << 10)
#define REPLY_MAX ((size_t)256 << 20) /* of the texts in one reply: as much as is kept */
#define PER_PAGE 20
#define CONVERSION                                                                                 \
    "some attributes for this submission cannot be converted to UTF-8, use base64_encoded=true "   \
    "query parameter"

/* One reply: copies of rows, which share their texts with the submissions. */
struct showing {
    struct apart apart;
    json_t *rows, *meta; /* of a list; NULL: none */
    bool one, base64;
    char *fields; /* NULL: those of a short form */
    unsigned int status;
    size_t bytes;
    json_t *document;
};

bool judge0_is_true(const struct exchange *x, const char *name)
{
    const char *value = exchange_query(x, name);

    return value && !strcmp(value, "true");
}

/* A star may come escaped. */
static const char *fields_of(const struct exchange *x)
{
    const char *fields = exchange_query(x, "fields");

    return fields && !strcasecmp(fields, "%2A") ? "*" : fields;
}

void judge0_reply_error(struct exchange *x, unsigned int status, const char *message)
{
    translate_reply(x, status, json_pack("{s:s}", "error", message));
}

bool judge0_check_fields(struct exchange *x)
{
    scoped_free char *wrong = judge0_wrong_field(fields_of(x)), *message = NULL;

    if (!wrong)
        return true;
    message = text_format("invalid fields: [%.100s]", wrong);
    judge0_reply_error(x, HTTP_BAD_REQUEST, message ? message : "invalid fields");
    return false;
}

bool judge0_check_batch(struct exchange *x, size_t n)
{
    if (n >= 1 && n <= JUDGE0_BATCH_MAX)
        return true;
    judge0_reply_error(x, HTTP_BAD_REQUEST,
                       n ? "number of submissions in a batch should be less than or equal to 20"
                         : "there should be at least one submission in a batch");
    return false;
}

static struct showing *begin(const struct exchange *x, unsigned int status)
{
    const char *fields = fields_of(x);
    struct showing *showing = calloc(1, sizeof(*showing));

    if (!showing)
        return NULL;
    showing->rows = json_array();
    showing->base64 = judge0_is_true(x, "base64_encoded");
    showing->fields = fields ? strdup(fields) : NULL;
    showing->status = status;
    return showing;
}

/* What the end brings is not shown before it is on record: it is the same after a restart. */
static void hide_end(json_t *row)
{
    static const char *const names[] = { "time",           "memory",   "stdout",      "stderr",
                                         "compile_output", "message",  "finished_at", "exit_code",
                                         "exit_signal",    "wall_time" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        json_object_del(row, names[i]);
    json_object_set_new(row, "status_id", json_integer(JUDGE0_PROCESSING));
}

/* NULL: there is none of that token. */
static void add_row(struct showing *showing, struct judge0_submission *s)
{
    json_t *row = s ? json_copy(s->row) : json_null();

    if (s && s->settling)
        hide_end(row);
    else if (s && s->execution && life_has_begun(s->execution->state))
        json_object_set_new(row, "status_id", json_integer(JUDGE0_PROCESSING));
    showing->bytes += s ? judge0_bytes(row) : 0;
    json_array_append_new(showing->rows, row);
}

static void make_document(struct apart *a)
{
    struct showing *showing = link_owner(a, struct showing, apart);
    json_t *shown = json_array(), *row;
    bool whole = true;
    size_t i;

    json_array_foreach(showing->rows, i, row)
        whole &=
            json_array_append_new(shown, json_is_null(row) ? json_null()
                                                           : judge0_show(row, showing->base64,
                                                                         showing->fields)) == 0;
    if (whole && showing->one)
        showing->document = json_incref(json_array_get(shown, 0));
    else if (whole)
        showing->document = json_pack("{s:O}", "submissions", shown);
    if (whole && showing->meta)
        json_object_set(showing->document, "meta", showing->meta);
    json_decref(shown);
}

/* A submission that was made is there, also when its texts cannot be shown. */
static void reply_conversion(const struct showing *showing, struct exchange *x)
{
    const json_t *row = json_array_get(showing->rows, 0);

    if (showing->status == HTTP_CREATED)
        translate_reply(x, HTTP_CREATED,
                        json_pack("{s:s, s:s}", "token", translate_word(row, "token"), "error",
                                  CONVERSION));
    else
        judge0_reply_error(x, HTTP_BAD_REQUEST, CONVERSION);
}

static void reply(struct apart *a, struct exchange *x)
{
    struct showing *showing = link_owner(a, struct showing, apart);

    if (x && showing->document)
        translate_reply(x, showing->status, take_ptr(showing->document));
    else if (x)
        reply_conversion(showing, x);
    json_decref(showing->document);
    json_decref(showing->rows);
    json_decref(showing->meta);
    free(showing->fields);
    free(showing);
}

static void show(struct exchange *x, struct showing *showing)
{
    bool too_large = !showing->one && showing->bytes > REPLY_MAX;

    showing->apart = (struct apart){ make_document, reply };
    if (!too_large) {
        apart_do(x, showing->bytes > LARGE, &showing->apart);
        return;
    }
    judge0_reply_error(x, HTTP_BAD_REQUEST,
                       "these submissions have more than 256 MiB together; ask for fewer, or "
                       "for fewer `fields`");
    reply(&showing->apart, NULL);
}

void judge0_reply(struct exchange *x, struct judge0_submission *s, unsigned int status)
{
    struct showing *showing = begin(x, status);

    if (!showing) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    showing->one = true;
    showing->base64 |= !strcmp(x->method, "DELETE");
    add_row(showing, s);
    show(x, showing);
}

void judge0_show_batch(struct exchange *x)
{
    const char *tokens = exchange_query(x, "tokens"), *list = tokens ? tokens : "";
    struct showing *showing;
    size_t n = 0;

    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        n++;
    if (!judge0_check_fields(x) || !judge0_check_batch(x, n))
        return;
    showing = begin(x, HTTP_OK);
    for (size_t len; showing && *list; list += len + (list[len] == ',')) {
        char token[ENCODING_ID_SIZE];

        len = strcspn(list, ",");
        snprintf(token, sizeof(token), "%.*s", (int)(len < sizeof(token) ? len : 0), list);
        add_row(showing, judge0_find(x, token));
    }
    if (showing)
        show(x, showing);
    else
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
}

static unsigned long number_of(const struct exchange *x, const char *name, unsigned long preset)
{
    const char *text = exchange_query(x, name);

    return text ? strtoul(text, NULL, 10) : preset;
}

static json_t *meta_of(unsigned long page, unsigned long pages, unsigned long n)
{
    return json_pack("{s:I, s:o, s:o, s:I, s:I}", "current_page", (json_int_t)page, "next_page",
                     page < pages ? json_integer((json_int_t)page + 1) : json_null(), "prev_page",
                     page > 1 ? json_integer((json_int_t)page - 1) : json_null(), "total_pages",
                     (json_int_t)pages, "total_count", (json_int_t)n);
}

void judge0_show_all(struct exchange *x)
{
    unsigned long page = number_of(x, "page", 1), size = number_of(x, "per_page", PER_PAGE), n = 0;
    struct link *all = &x->server->submissions;
    struct showing *showing;

    if (page == 0 || size == 0 || size > 1000) {
        judge0_reply_error(x, HTTP_BAD_REQUEST, "invalid page or per_page");
        return;
    }
    showing = begin(x, HTTP_OK);
    if (!showing) {
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
        return;
    }
    for (struct link *at = all->prev; at != all; at = at->prev) {
        struct judge0_submission *s = link_owner(at, struct judge0_submission, link);

        if (strcmp(s->tenant.name, x->tenant.name) != 0)
            continue;
        if (n / size == page - 1)
            add_row(showing, s);
        n++;
    }
    showing->base64 = true;
    showing->meta = meta_of(page, (n + size - 1) / size, n);
    show(x, showing);
}
