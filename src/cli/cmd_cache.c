/* cache: lists and removes what the store keeps between runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "base/text.h"
#include "cli/action.h"
#include "cli/amounts.h"
#include "cli/present.h"
#include "store/store.h"

#define SHOWN_KEY 12
#define LEAST_KEY 4   /* digits that `rm` needs, so that a typing error removes nothing */
#define LIST_SHORT 20 /* entries that a list shows unasked */
#define PRUNE_PRESET "30d"
#define DAY_MS (24 * 3600 * 1000ULL)
#define STATUS_DAMAGED 1 /* of `verify`: an entry was damaged, and is removed */

struct items {
    struct store_item *v;
    size_t n;
};

struct cache_options {
    const char *older, *max_size;
    bool all;
    struct items items; /* all of the store, when an action begins */
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "older",    "TIME", "prune: what was not used for so long, as in 30d",
      OPTION_OWN(struct cache_options, older) },
    { 0, "all",      NULL,   "list: every entry, not only those used last",
      OPTION_OWN(struct cache_options, all) },
    { 0, "max-size", "SIZE", "prune: least recently used, until the rest is no more",
      OPTION_OWN(struct cache_options, max_size) },
    { 0 },
};
/* clang-format on */

static int add_item(void *context, const struct store_item *item)
{
    struct items *items = context;
    struct store_item *grown = realloc(items->v, (items->n + 1) * sizeof(*grown));

    if (!grown)
        return SBR_E_NO_MEMORY;
    items->v = grown;
    grown[items->n++] = *item;
    return 0;
}

static struct items *items_of(const struct options *o)
{
    return &((struct cache_options *)o->own)->items;
}

static uint64_t sum_bytes(const struct items *items)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < items->n; i++)
        bytes += items->v[i].bytes;
    return bytes;
}

static void print_item(const struct store_item *item, bool color)
{
    char size[16], idle[24];

    amount_of_bytes(item->bytes, size, sizeof(size));
    amount_of_idle(item->used, idle, sizeof(idle));
    printf("%-8s  %.*s  %6s  %6llu  %5s", store_kind_name(item->kind), SHOWN_KEY, item->key, size,
           (unsigned long long)item->files, idle);
    if (item->damaged)
        printf("  %sdamaged%s\n", color ? "\x1b[31m" : "", color ? "\x1b[0m" : "");
    else
        printf("%s%s\n", item->about[0] ? "  " : "", item->about);
}

static void put_item(struct jsonw *j, const struct store_item *item)
{
    jsonw_open(j, NULL, '{');
    jsonw_text(j, "kind", store_kind_name(item->kind));
    jsonw_text(j, "key", item->key);
    jsonw_text(j, "about", item->about);
    jsonw_number(j, "bytes", item->bytes);
    jsonw_number(j, "files", item->files);
    jsonw_number(j, "used", item->used > 0 ? (uint64_t)item->used : 0);
    jsonw_bool(j, "damaged", item->damaged);
    jsonw_close(j, '}');
}

/* {"path": ..., NAME: [items], "count": ..., "bytes": ...} */
static void print_json(const char *name, const struct items *items, const char *path)
{
    struct jsonw j;

    jsonw_init(&j, present_has_lines());
    jsonw_open(&j, NULL, '{');
    jsonw_path(&j, "path", path);
    jsonw_open(&j, name, '[');
    for (size_t i = 0; i < items->n; i++)
        put_item(&j, &items->v[i]);
    jsonw_close(&j, ']');
    jsonw_number(&j, "count", items->n);
    jsonw_number(&j, "bytes", sum_bytes(items));
    jsonw_close(&j, '}');
    present_json(&j);
}

/* What an action did, in one line: to stderr, because stdout is for other programs. */
static int report(const struct options *o, const char *name, const struct items *items,
                  sbr_error *err)
{
    char path[STORE_PATH_SIZE], count[40], size[16];

    if (store_path(path, sizeof(path), err) < 0)
        return err->code;
    if (o->json) {
        print_json(name, items, path);
        return 0;
    }
    amount_of(items->n, "entry", "entries", count, sizeof(count));
    amount_of_bytes(sum_bytes(items), size, sizeof(size));
    if (!items->n)
        fprintf(stderr, "nothing %s\n",
                strcmp(name, "entries") == 0 ? "is kept yet" : "was removed");
    else if (strcmp(name, "entries") == 0)
        fprintf(stderr, "%s, %s in %s\n", count, size, path);
    else
        fprintf(stderr, "%s %s, %s\n", name, count, size);
    return 0;
}

/* One line for each kind of which there are several entries. */
static void print_kinds(const struct items *items)
{
    for (unsigned int kind = 0; kind < N_STORE_KINDS; kind++) {
        char count[40], size[16];
        uint64_t bytes = 0;
        size_t n = 0;

        for (size_t i = 0; i < items->n; i++) {
            bool is = items->v[i].kind == (enum store_kind)kind;

            n += is;
            bytes += is ? items->v[i].bytes : 0;
        }
        amount_of(n, "entry", "entries", count, sizeof(count));
        amount_of_bytes(bytes, size, sizeof(size));
        if (n > 1 && n < items->n)
            fprintf(stderr, "%s: %s, %s\n", store_kind_name((enum store_kind)kind), count, size);
    }
}

static int list_run(const struct options *o, sbr_error *err)
{
    struct items *items = items_of(o);
    bool color = present_uses_color(STDOUT_FILENO, o);
    bool all = ((const struct cache_options *)o->own)->all || items->n <= LIST_SHORT + 1;
    size_t shown = all ? items->n : LIST_SHORT;

    if (!o->json && items->n)
        printf("%s%-8s  %-*s  %6s  %6s  %5s  %s%s\n", color ? "\x1b[2m" : "", "KIND", SHOWN_KEY,
               "KEY", "SIZE", "FILES", "IDLE", "ABOUT", color ? "\x1b[0m" : "");
    for (size_t i = 0; !o->json && i < shown; i++)
        print_item(&items->v[i], color);
    fflush(stdout); /* before the lines of totals on a terminal */
    if (!o->json && shown < items->n)
        fprintf(stderr, "and %zu more; `sandbox-run cache --all` lists them\n", items->n - shown);
    if (!o->json)
        print_kinds(items);
    return report(o, "entries", items, err);
}

static int path_run(const struct options *o, sbr_error *err)
{
    struct items *items = items_of(o);
    char path[STORE_PATH_SIZE];

    if (o->json)
        return report(o, "entries", items, err);
    if (store_path(path, sizeof(path), err) < 0)
        return err->code;
    printf("%s\n", path);
    return 0;
}

/* Removes the chosen items, and reports them. */
static int remove_chosen(const struct options *o, struct items *items, const bool *chosen,
                         sbr_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < items->n; i++) {
        if (!chosen[i])
            continue;
        if (store_remove(items->v[i].kind, items->v[i].key, err) < 0)
            return err->code;
        items->v[n++] = items->v[i];
    }
    items->n = n;
    return report(o, "removed", items, err);
}

static int clear_run(const struct options *o, sbr_error *err)
{
    struct items *items = items_of(o);
    scoped_free bool *chosen = malloc(items->n + 1);

    if (!chosen)
        return err_set_oom(err, "cache");
    memset(chosen, true, items->n + 1);
    if (store_sweep(err) < 0)
        return err->code;
    return remove_chosen(o, items, chosen, err);
}

/* "30d", or another duration. */
static int parse_age(const char *text, uint64_t *ret_ms, sbr_error *err)
{
    size_t len = strlen(text);
    enum text_fault fault;
    char days[32];

    if (len > 1 && len < sizeof(days) && (text[len - 1] == 'd' || text[len - 1] == 'D')) {
        snprintf(days, sizeof(days), "%.*s", (int)(len - 1), text);
        fault = text_parse_millis(days, ret_ms);
        if (fault == TEXT_OK && __builtin_mul_overflow(*ret_ms, DAY_MS / 1000, ret_ms))
            fault = TEXT_TOO_LARGE;
    } else {
        fault = text_parse_duration(text, ret_ms);
    }
    if (fault != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "options", "--older '%.60s' %s; write it as 30d or 12h",
                       text, text_fault_reason(fault));
    return 0;
}

static int least_used_first(const void *a, const void *b)
{
    const struct store_item *x = a, *y = b;

    return x->used < y->used ? -1 : x->used > y->used;
}

static int prune_run(const struct options *o, sbr_error *err)
{
    struct items *items = items_of(o);
    const struct cache_options *own = o->own;
    scoped_free bool *chosen = calloc(items->n + 1, sizeof(*chosen));
    uint64_t older = UINT64_MAX, most = UINT64_MAX, left = sum_bytes(items);
    const char *age = own->older || own->max_size ? own->older : PRUNE_PRESET;
    enum text_fault fault = own->max_size ? text_parse_size(own->max_size, &most) : TEXT_OK;
    int64_t now = time(NULL);

    if (!chosen)
        return err_set_oom(err, "cache");
    if (fault != TEXT_OK)
        return err_set(err, SBR_E_INVALID, "options", "--max-size '%.60s' %s; write it as 2g",
                       own->max_size, text_fault_reason(fault));
    if (age && parse_age(age, &older, err) < 0)
        return err->code;
    if (items->n)
        qsort(items->v, items->n, sizeof(*items->v), least_used_first);
    for (size_t i = 0; i < items->n; i++) {
        const struct store_item *item = &items->v[i];
        uint64_t idle = now > item->used ? (uint64_t)(now - item->used) : 0;

        chosen[i] = item->damaged || (older != UINT64_MAX && idle >= older / 1000) || left > most;
        if (chosen[i])
            left -= item->bytes;
    }
    return remove_chosen(o, items, chosen, err);
}

/* The one entry whose key begins with the prefix. */
static int choose_key(const char *prefix, const struct items *items, bool *chosen, sbr_error *err)
{
    size_t len = strlen(prefix), found = 0;

    if (len < LEAST_KEY || strspn(prefix, "0123456789abcdef") != len)
        return err_set(err, SBR_E_INVALID, "cache",
                       "'%.70s' is not the start of a key; `sandbox-run cache list` shows them",
                       prefix);
    for (size_t i = 0; i < items->n; i++) {
        if (strncmp(items->v[i].key, prefix, len) == 0) {
            chosen[i] = true;
            found++;
        }
    }
    if (found == 0)
        return err_set(err, SBR_E_NOT_FOUND, "cache",
                       "there is no entry '%.70s'; `sandbox-run cache list` shows what there is",
                       prefix);
    if (found > 1)
        return err_set(err, SBR_E_INVALID, "cache",
                       "%zu keys start with '%.70s'; give more of the one you mean", found, prefix);
    return 0;
}

static int rm_run(const struct options *o, sbr_error *err)
{
    struct items *items = items_of(o);
    scoped_free bool *chosen = calloc(items->n + 1, sizeof(*chosen));

    if (!chosen)
        return err_set_oom(err, "cache");
    for (size_t i = 1; i < o->n_positional; i++)
        if (choose_key(o->positional[i], items, chosen, err) < 0)
            return err->code;
    return remove_chosen(o, items, chosen, err);
}

static int verify_run(const struct options *o, sbr_error *err)
{
    struct items *items = items_of(o);
    size_t sound = 0, damaged = 0;

    for (size_t i = 0; i < items->n; i++) {
        int r = store_verify(items->v[i].kind, items->v[i].key, err);

        if (r < 0)
            return r;
        if (r == STORE_ABSENT)
            items->v[damaged++] = items->v[i];
        else
            sound++;
    }
    items->n = damaged;
    if (!o->json) {
        bool color = present_uses_color(STDOUT_FILENO, o);

        for (size_t i = 0; i < damaged; i++)
            print_item(&items->v[i], color);
        fflush(stdout);
        fprintf(stderr, "%zu sound, %zu damaged%s\n", sound, damaged,
                damaged ? " and removed" : "");
    } else if (report(o, "removed", items, err) < 0) {
        return err->code;
    }
    return damaged ? STATUS_DAMAGED : 0;
}

static const struct action actions[] = {
    { "list", list_run, 0, 0, "" },
    { "prune", prune_run, 0, 0, "" },
    { "clear", clear_run, 0, 0, "" },
    { "verify", verify_run, 0, 0, "" },
    { "rm", rm_run, 1, SIZE_MAX, " KEY..." },
    { "path", path_run, 0, 0, "" },
    { 0 },
};

static int cache_run(struct options *o)
{
    struct cache_options *own = o->own;
    sbr_error err;
    const struct action *action = action_find(o, actions, &err);
    int r;

    if (!action)
        return cli_fail(o, &err);
    if ((own->older || own->max_size) && action->run != prune_run) {
        err_set(&err, SBR_E_INVALID, "options", "--older and --max-size are for `cache prune`");
        return cli_fail(o, &err);
    }
    r = store_list(add_item, &own->items, &err);
    if (r == SBR_E_NO_MEMORY)
        err_set_oom(&err, "cache");
    if (r == 0)
        r = action->run(o, &err);
    free(own->items.v);
    return r < 0 ? cli_fail(o, &err) : r;
}

const struct command cmd_cache = {
    .name = "cache",
    .usage = "[list | prune | clear | verify | rm KEY... | path]",
    .help = "show or remove what is kept between runs: programs, packages, toolchains",
    .examples =
        "  sandbox-run cache                       what was used last, and totals\n"
        "  sandbox-run cache --all                 everything that there is\n"
        "  sandbox-run cache prune                 what was not used for 30 days goes\n"
        "  sandbox-run cache prune --older 12h     or for less\n"
        "  sandbox-run cache prune --max-size 2g   least recently used, down to a size\n"
        "  sandbox-run cache rm 3f9ac0             one entry, by the start of its key\n"
        "  sandbox-run cache verify                read all; what is damaged goes\n"
        "  sandbox-run cache clear                 everything goes\n\n"
        "Everything here is made again when it is needed.  Compiled programs are kept up\n"
        "to 1g, or what SANDBOX_RUN_CACHE_MAX says; SANDBOX_RUN_CACHE names another place.\n",
    .options = (const struct option *const[]){ options_report, own_options, options_look,
                                               options_quiet, options_general, NULL },
    .own_size = sizeof(struct cache_options),
    .actions = actions,
    .run = cache_run,
};
