/* The table of fields: rows that fit together, and what is made from them. */
#include "model/request_fields.h"

#include <string.h>

#include "unit.h"

static bool is_list(const struct request_field *field)
{
    return field->kind == FIELD_LIST || field->kind == FIELD_PAIRS;
}

static void a_field_is_found_by_its_name(void **state)
{
    (void)state;
    assert_string_equal(request_field_find("image")->name, "image");
    assert_int_equal(request_field_find("image")->who, WHO_NAMES);
    assert_int_equal(request_field_find("image")->bound, BOUND_IMAGES);
    assert_int_equal(request_field_find("project")->who, WHO_ROOTS);
    assert_int_equal(request_field_find("publish")->who, WHO_LOCAL);
    assert_int_equal(request_field_find("language_file")->who, WHO_NONE);
    assert_null(request_field_find("caller"));
    assert_null(request_field_find("audit"));
    assert_null(request_field_find(""));
}

static void every_row_fits_its_kind(void **state)
{
    (void)state;
    for (const struct request_field *f = request_fields; f->size; f++) {
        bool named = f - request_fields < N_REQUEST_FIELDS;

        if (named != (f->name != NULL) || named != (f->must_be != NULL) ||
            (f->set_bytes != NULL) != (f->kind == FIELD_BYTES) ||
            (f->turn && f->kind != FIELD_SWITCH) ||
            (!f->set &&
             (f->kind == FIELD_WORD || f->kind == FIELD_TEXTS || f->kind == FIELD_HOSTS)) ||
            (f->merge == MERGE_OR && (f->kind != FIELD_SWITCH || f->turn)) ||
            (f->merge == MERGE_APPEND && !is_list(f) && f->kind != FIELD_TEXTS) ||
            (f->group && (!f->option || !f->help)) ||
            (f->group && (f->metavar == NULL) != (f->kind == FIELD_SWITCH)))
            fail_msg("the row of '%s' does not fit its kind", f->name ? f->name : "a member");
    }
}

/* Those that were forgotten by hand before: what is recorded, what is kept, whose run it is. */
static void what_the_operator_set_goes_with_an_override(void **state)
{
    sbr_request *req = NULL, *over = NULL;
    sbr_error err;

    (void)state;
    assert_int_equal(request_new("python", NULL, &req, &err), 0);
    assert_int_equal(request_new("bash", NULL, &over, &err), 0);
    assert_int_equal(request_set_caller(req, "first", &err), 0);
    assert_int_equal(request_override(req, over, &err), 0);
    assert_string_equal(req->caller, "first");
    over->audit = over->audit_code = true;
    over->audit_bytes = 256;
    over->keep_seconds = 1ULL << 40;
    assert_int_equal(request_set_caller(over, "second", &err), 0);
    assert_int_equal(request_set_code(over, "x", 1, &err), 0);
    assert_int_equal(request_add_arg(over, "x", &err), 0);
    assert_int_equal(request_override(req, over, &err), 0);
    assert_true(req->audit && req->audit_code);
    assert_int_equal(req->audit_bytes, 256);
    assert_true(req->keep_seconds == 1ULL << 40);
    assert_string_equal(req->caller, "second");
    assert_string_equal(req->language, "python");
    assert_null(req->code);
    assert_int_equal(req->args.n, 0);
    request_free(req);
    request_free(over);
}

static void of_require_and_allow_degraded_the_later_counts(void **state)
{
    static const struct {
        const char *json;
        enum tier require;
        bool given;
    } rows[] = {
        { "{\"allow_degraded\": true}", TIER_PROCESS, true },
        { "{\"allow_degraded\": false}", TIER_CONTAINER, false },
        { "{\"require\": \"reduced\", \"allow_degraded\": true}", TIER_PROCESS, true },
        { "{\"allow_degraded\": true, \"require\": \"reduced\"}", TIER_REDUCED, true },
        { "{\"require\": \"reduced\", \"allow_degraded\": false}", TIER_REDUCED, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        sbr_request *req = NULL;
        sbr_error err;

        assert_int_equal(request_from_json(rows[i].json, strlen(rows[i].json), &req, &err), 0);
        if (req->require != rows[i].require || req->require_given != rows[i].given)
            fail_msg("%s", rows[i].json);
        request_free(req);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_is_found_by_its_name),
        cmocka_unit_test(every_row_fits_its_kind),
        cmocka_unit_test(what_the_operator_set_goes_with_an_override),
        cmocka_unit_test(of_require_and_allow_degraded_the_later_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
