#include "dialect/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "http/offload.h"
#include "http/route.h"
#include "http/server.h"
#include "lib/language_status.h"

#define FRESH_US (300 * 1000000ULL)

struct catalog {
    struct catalog_row *rows;
    size_t n;
    uint64_t read_us;
};

static int add_rows(struct catalog *catalog, const struct language_report *report, sbr_error *err)
{
    size_t n = catalog->n + report->n_toolchains;
    struct catalog_row *rows = realloc(catalog->rows, (n + 1) * sizeof(*rows));

    if (!rows)
        return err_set_oom(err, "http");
    catalog->rows = rows;
    for (size_t i = 0; i < report->n_toolchains; i++) {
        const struct toolchain *t = &report->toolchains[i];
        struct catalog_row *row = &rows[catalog->n++];

        *row = (struct catalog_row){ .language = report->language, .best = i == 0 };
        snprintf(row->version, sizeof(row->version), "%s", t->version[0] ? t->version : t->hint);
    }
    return 0;
}

static int read_catalog(struct offload *o, sbr_error *err)
{
    struct language_inspector inspector = { .selftest = false };
    struct catalog *catalog = o->extra;
    int r = 0;

    for (size_t i = 0; language_at(i) && r == 0; i++) {
        struct language_report report;

        r = language_inspect(&inspector, language_at(i), NULL, &report, err);
        if (r == 0) {
            r = add_rows(catalog, &report, err);
            language_report_done(&report);
        }
    }
    language_inspector_done(&inspector);
    return r;
}

static void catalog_read(struct offload *o, const sbr_error *err)
{
    struct catalog *catalog = o->extra;
    struct exchange *x = o->x;

    if (!err) {
        catalog_free(o->server);
        catalog->read_us = clock_now_us();
        o->server->catalog = catalog;
    } else {
        free(catalog->rows);
        free(catalog);
    }
    if (err || !x)
        return;
    o->x = NULL; /* the handler replies */
    x->left = NULL;
    x->route->handle(x);
}

bool catalog_is_ready(struct exchange *x)
{
    struct offload o = { .work = read_catalog, .done = catalog_read };
    const struct catalog *kept = x->server->catalog;

    if (kept && (x->visitor->life == LIFE_WAITING || clock_now_us() < kept->read_us + FRESH_US))
        return true;
    o.extra = calloc(1, sizeof(struct catalog));
    if (o.extra)
        offload_start(x, &o);
    else
        exchange_reply(x, HTTP_SERVICE_UNAVAILABLE, JSON_TYPE, NULL);
    return false;
}

const struct catalog_row *catalog_at(const struct catalog *catalog, const struct grant *tenant,
                                     size_t index)
{
    for (size_t i = 0; i < catalog->n; i++) {
        const char *name = catalog->rows[i].language->name;

        if (!grant_has_language(tenant, name))
            continue;
        if (index-- == 0)
            return &catalog->rows[i];
    }
    return NULL;
}

const struct catalog_row *catalog_find(const struct catalog *catalog, const struct grant *tenant,
                                       const char *name, const char *selector)
{
    const struct language *language = strchr(name, '@') ? NULL : language_find(name);
    const struct catalog_row *row;

    for (size_t i = 0; language && (row = catalog_at(catalog, tenant, i)); i++)
        if (row->language == language && semver_matches(row->version, selector))
            return row;
    return NULL;
}

char *catalog_name(const struct catalog_row *row)
{
    return row->best || !row->version[0] ? strdup(row->language->name)
                                         : text_format("%s@%s", row->language->name, row->version);
}

void catalog_free(struct server *server)
{
    if (server->catalog)
        free(server->catalog->rows);
    free(server->catalog);
    server->catalog = NULL;
}
