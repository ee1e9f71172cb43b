/* Languages, packages, images, policies, scopes and workspaces of a request, and the fields that only
 * an operator may set: at the bound a request passes, above it exactly that bound says no. */
#include <stdio.h>
#include <stdlib.h>

#include "admit/admit.h"
#include "admit/grant_check.h"
#include "unit.h"

/* The grant allows the languages python and bash, some packages or none, one image, all files. */
static struct grant make_grant(bool packages, unsigned int scopes)
{
    struct grant grant;

    grant_init_token(&grant);
    snprintf(grant.name, sizeof(grant.name), "acme");
    snprintf(grant.languages, sizeof(grant.languages), "python,bash");
    snprintf(grant.images, sizeof(grant.images), "debian:*");
    grant.packages = packages;
    grant.scopes = scopes;
    return grant;
}

enum part { LANGUAGE, COMMAND, ARGS, DEPS, IMAGE, POLICY, WORKSPACE, PROJECT, VOLUME };

static void set_part(sbr_request *req, enum part part, const char *value)
{
    sbr_error err = { 0 };
    int r = 0;

    if (part == LANGUAGE)
        r = request_set_text(&req->language, value, &err);
    else if (part == DEPS)
        r = request_add_dep(req, value, &err);
    else if (part == IMAGE)
        r = request_set_image(req, value, &err);
    else if (part == POLICY)
        r = request_set_text(&req->policy, value, &err);
    else if (part == WORKSPACE)
        r = request_set_workspace(req, value, &err);
    else if (part == PROJECT)
        r = request_set_project(req, value, &err);
    else if (part == VOLUME)
        r = request_add_volume(req, value, &err);
    else
        r = request_add_arg(req, value, &err);
    req->command |= part == COMMAND;
    if (part == ARGS) {
        free(req->language);
        req->language = NULL;
    }
    if (r < 0)
        fail_msg("%s", err.message);
}

#define OTHER_SCOPES (SCOPE_ALL & ~SCOPE_FILES)

/* clang-format off */
static const struct row {
    enum part part;
    const char *value;
    bool packages;
    unsigned int scopes;
    const char *policy; /* the operator's; NULL: none was chosen */
    enum bound bound;   /* BOUND_NONE: it passes */
    const char *field;
} rows[] = {
    { LANGUAGE,  "python",     false, SCOPE_RUN,    NULL,      BOUND_NONE,      NULL        },
    { LANGUAGE,  "py@3.11",    false, SCOPE_RUN,    NULL,      BOUND_NONE,      NULL        },
    { LANGUAGE,  "bash",       false, SCOPE_RUN,    NULL,      BOUND_NONE,      NULL        },
    { LANGUAGE,  "js",         false, SCOPE_RUN,    NULL,      BOUND_LANGUAGES, "language"  },
    { LANGUAGE,  "c",          false, SCOPE_RUN,    NULL,      BOUND_LANGUAGES, "language"  },
    { COMMAND,   "sh",         false, SCOPE_RUN,    NULL,      BOUND_LANGUAGES, "language"  },
    { ARGS,      "sh",         false, SCOPE_RUN,    NULL,      BOUND_LANGUAGES, "language"  },
    { DEPS,      "six",        true,  SCOPE_RUN,    NULL,      BOUND_NONE,      NULL        },
    { DEPS,      "six",        false, SCOPE_RUN,    NULL,      BOUND_PACKAGES,  "deps"      },
    { IMAGE,     "debian:12",  false, SCOPE_RUN,    NULL,      BOUND_NONE,      NULL        },
    { IMAGE,     "alpine:3",   false, SCOPE_RUN,    NULL,      BOUND_IMAGES,    "image"     },
    { POLICY,    "strict",     false, SCOPE_RUN,    NULL,      BOUND_NONE,      NULL        },
    { POLICY,    "strict",     false, SCOPE_RUN,    "default", BOUND_NONE,      NULL        },
    { POLICY,    "strict",     false, SCOPE_RUN,    "strict",  BOUND_NONE,      NULL        },
    { POLICY,    "default",    false, SCOPE_RUN,    "strict",  BOUND_POLICY,    "policy"    },
    { POLICY,    "strict",     false, SCOPE_RUN,    "process", BOUND_POLICY,    "policy"    },
    { WORKSPACE, "w",          false, SCOPE_FILES,  NULL,      BOUND_NONE,      NULL        },
    { WORKSPACE, "w",          false, OTHER_SCOPES, NULL,      BOUND_SCOPE,     "workspace" },
    { PROJECT,   "/srv/a",     false, SCOPE_ALL,    NULL,      BOUND_NONE,      NULL        },
    { PROJECT,   "/srv/a",     false, OTHER_SCOPES, NULL,      BOUND_SCOPE,     "project"   },
    { VOLUME,    "/srv/a:/in", false, SCOPE_FILES,  NULL,      BOUND_NONE,      NULL        },
    { VOLUME,    "/srv/a:/in", false, OTHER_SCOPES, NULL,      BOUND_SCOPE,     "project"   },
};
/* clang-format on */

static struct config make_config(const char *policy)
{
    struct config config = { .require = TIER_CONTAINER };

    limits_init(&config.limits);
    limits_init(&config.compile_limits);
    snprintf(config.policy, sizeof(config.policy), "%s", policy ? policy : "default");
    if (policy)
        config.from[CONFIG_POLICY].origin = CONFIG_BY_USER;
    return config;
}

static sbr_request *make_request(enum part part, const char *value)
{
    sbr_request *req = NULL;
    sbr_error err;

    assert_int_equal(request_new("python", NULL, &req, &err), 0);
    set_part(req, part, value);
    return req;
}

static void a_request_passes_at_the_bound_and_not_above(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct grant grant = make_grant(rows[i].packages, rows[i].scopes);
        const struct config config = make_config(rows[i].policy);
        sbr_request *req = make_request(rows[i].part, rows[i].value);
        struct refusal refusal = { 0 };
        int r = grant_check(&grant, &config, req, &refusal);

        if (r != (rows[i].bound ? -1 : 0) || refusal.bound != rows[i].bound)
            fail_msg("row %zu: %d, bound %d: %s", i, r, (int)refusal.bound, refusal.err.message);
        if (r < 0) {
            assert_string_equal(refusal.field, rows[i].field);
            assert_int_equal(refusal.kind, REFUSED_FORBIDDEN);
            assert_refused(refusal.err.code, &refusal.err, SBR_E_DENIED, "");
        } else {
            assert_string_equal(req->only_languages, "python,bash");
            assert_int_equal(req->installs_nothing, !rows[i].packages);
            assert_string_equal(req->caller, "acme");
        }
        request_free(req);
    }
}

static void a_command_needs_a_language_of_that_name(void **state)
{
    struct grant grant = make_grant(false, SCOPE_RUN);
    const struct config config = make_config(NULL);
    struct refusal refusal = { 0 };

    (void)state;
    snprintf(grant.languages, sizeof(grant.languages), "python,command");
    for (enum part part = COMMAND; part <= ARGS; part++) {
        sbr_request *req = make_request(part, "sh");

        assert_int_equal(grant_check(&grant, &config, req, &refusal), 0);
        request_free(req);
    }
}

static void a_workspace_belongs_to_its_tenant(void **state)
{
    struct grant grant = make_grant(false, SCOPE_ALL);
    const struct config config = make_config(NULL);
    sbr_request *req = make_request(WORKSPACE, "123456789012345678901234567890");
    struct refusal refusal = { 0 };

    (void)state;
    memset(grant.name, 'a', sizeof(grant.name) - 1); /* the longest of both is still a name */
    assert_int_equal(grant_check(&grant, &config, req, &refusal), 0);
    assert_int_equal(strlen(req->workspace), 63);
    assert_int_equal(strncmp(req->workspace, grant.name, 32), 0);
    assert_string_equal(req->workspace + 32, ".123456789012345678901234567890");
    assert_int_equal(request_check_trees(req, &refusal.err), 0);
    request_free(req);
    req = make_request(WORKSPACE, "1234567890123456789012345678901");
    assert_int_equal(grant_check(&grant, &config, req, &refusal), -1);
    assert_int_equal(refusal.kind, REFUSED_WRONG);
    assert_refused(refusal.err.code, &refusal.err, SBR_E_INVALID, "at most 30 bytes");
    request_free(req);
}

/* clang-format off */
static const struct {
    const char *body;
    enum bound bound[2]; /* for a tenant, and for the local user */
    const char *field;
    enum refusal_kind kind;
} fields[] = {
    { "{}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"language\":\"python\",\"code\":\"1\"}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"allow_degraded\":false}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"allow_degraded\":true}", { BOUND_ISOLATION, BOUND_NONE }, "allow_degraded", REFUSED_FORBIDDEN },
    { "{\"backend\":\"native\"}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"backend\":\"docker\"}", { BOUND_ISOLATION, BOUND_ISOLATION }, "backend", REFUSED_WRONG },
    { "{\"backend\":\"auto\"}", { BOUND_ISOLATION, BOUND_ISOLATION }, "backend", REFUSED_WRONG },
    { "{\"image\":\"debian:12\"}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"image\":\"/srv/image\"}", { BOUND_IMAGES, BOUND_IMAGES }, "image", REFUSED_WRONG },
    { "{\"image\":\"./image.tar\"}", { BOUND_IMAGES, BOUND_IMAGES }, "image", REFUSED_WRONG },
    { "{\"language_file\":\"x\"}", { BOUND_ROOTS, BOUND_ROOTS }, "language_file", REFUSED_WRONG },
    { "{\"policy\":\"strict\"}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"policy\":\"./mine.yaml\"}", { BOUND_POLICY, BOUND_POLICY }, "policy", REFUSED_WRONG },
    { "{\"publish\":[]}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"publish\":[\"8080\"]}", { BOUND_ISOLATION, BOUND_NONE }, "publish", REFUSED_FORBIDDEN },
    { "{\"require\":\"container\"}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"require\":\"process\"}", { BOUND_ISOLATION, BOUND_NONE }, "require", REFUSED_FORBIDDEN },
    { "{\"template\":\"stdio\"}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
    { "{\"template\":\"/srv/t.yaml\"}", { BOUND_ROOTS, BOUND_ROOTS }, "template", REFUSED_WRONG },
    /* Of another type: the reader of requests refuses it. */
    { "{\"image\":1,\"policy\":1,\"backend\":1,\"require\":1}", { BOUND_NONE, BOUND_NONE }, NULL, 0 },
};
/* clang-format on */

static void a_field_of_the_operators_is_refused(void **state)
{
    struct grant grants[2];

    (void)state;
    grant_init_token(&grants[0]);
    grant_init_local(&grants[1]);
    for (size_t i = 0; i < 2 * ARRAY_LEN(fields); i++) {
        enum bound bound = fields[i / 2].bound[i % 2];
        json_t *body = json_loads(fields[i / 2].body, 0, NULL);
        struct refusal refusal = { 0 };
        int r = admit_fields(&grants[i % 2], body, &refusal);

        json_decref(body);
        if (r != (bound ? -1 : 0) || refusal.bound != bound)
            fail_msg("%s: %d, bound %d", fields[i / 2].body, r, (int)refusal.bound);
        if (r == 0)
            continue;
        assert_string_equal(refusal.field, fields[i / 2].field);
        assert_int_equal(refusal.kind, fields[i / 2].kind);
    }
}

/* Every kind of a refusal has a code of its own, and no text is too long for it. */
static void a_refusal_has_the_code_of_its_kind(void **state)
{
    static const int codes[] = { [REFUSED_BY_ERROR] = SBR_E_INVALID,
                                 [REFUSED_UNREADABLE] = SBR_E_INVALID,
                                 [REFUSED_WRONG] = SBR_E_INVALID,
                                 [REFUSED_FORBIDDEN] = SBR_E_DENIED,
                                 [REFUSED_FULL] = SBR_E_BUSY };
    char text[2000];
    struct refusal refusal;

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        refusal = (struct refusal){ .retry_s = 3 };
        assert_int_equal(refusal_set(&refusal, (enum refusal_kind)i, BOUND_DISK, text, "%s", text),
                         -1);
        assert_int_equal(refusal.err.code, codes[i]);
        assert_int_equal(refusal.kind, i);
        assert_int_equal(refusal.bound, BOUND_DISK);
        assert_int_equal(refusal.retry_s, 3);
        assert_int_equal(strlen(refusal.field), sizeof(refusal.field) - 1);
        assert_int_equal(strlen(refusal.err.message), sizeof(refusal.err.message) - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_passes_at_the_bound_and_not_above),
        cmocka_unit_test(a_command_needs_a_language_of_that_name),
        cmocka_unit_test(a_workspace_belongs_to_its_tenant),
        cmocka_unit_test(a_field_of_the_operators_is_refused),
        cmocka_unit_test(a_refusal_has_the_code_of_its_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
