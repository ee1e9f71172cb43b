#include "http/ownership.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_read.h"
#include "base/listing.h"
#include "changes/state_dir.h"

#define STATE_GATEWAY "gateway"
#define STATE_CHANGES_OF "gateway-changes"
#define LINE_SIZE (GRANT_TENANT_SIZE + OWNERSHIP_ID_SIZE + 2)
#define NOTE_BYTES ((size_t)256 << 10) /* as many hosts as a request may have */

static int add_note(const char *folder, const struct ownership *o, const char *facts,
                    sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    scoped_fd int fd = -1;
    char line[LINE_SIZE];
    int len, r = 0;

    if (state_open(folder, true, &dir, err) < 0)
        return err->code;
    len = snprintf(line, sizeof(line), "%s %s\n", o->tenant, o->own);
    fd = openat(dir.fd, o->id, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fd_write_all(fd, line, (size_t)len) < 0 ||
        fd_write_all(fd, facts, strlen(facts)) < 0)
        r = state_fail("note an id in", dir.path, err);
    state_close(&dir);
    return r;
}

int ownership_add(const struct grant *tenant, struct ownership *o, const json_t *facts,
                  sbr_error *err)
{
    scoped_free char *text = NULL;

    if (tenant->local) {
        memcpy(o->id, o->own, sizeof(o->id));
        return 0;
    }
    if (encoding_random_id(o->id) < 0)
        return err_set_errno(err, "http", "there are no random numbers");
    snprintf(o->tenant, sizeof(o->tenant), "%s", tenant->name);
    text = json_dumps(facts, JSON_COMPACT);
    return text ? add_note(STATE_GATEWAY, o, text, err) : err_set_oom(err, "http");
}

/* Splits "TENANT OWN\n..." in place; the rest, or NULL when it is no such line. */
static char *split_note(char *note, struct ownership *ret)
{
    char *blank = strchr(note, ' '), *end = blank ? strchr(blank, '\n') : NULL;

    if (!blank)
        return NULL;
    *blank++ = '\0';
    if (end)
        *end = '\0';
    snprintf(ret->tenant, sizeof(ret->tenant), "%.*s", GRANT_TENANT_SIZE - 1, note);
    snprintf(ret->own, sizeof(ret->own), "%.*s", OWNERSHIP_ID_SIZE - 1, blank);
    return end ? end + 1 : blank + strlen(blank);
}

/* The facts, which the caller frees; NULL: there is no such note, or it is another tenant's. */
static char *read_note(const struct state_dir *dir, const struct grant *tenant, const char *id,
                       struct ownership *ret)
{
    char *note = malloc(NOTE_BYTES), *rest = NULL;

    if (note && fd_read_small(dir->fd, id, note, NOTE_BYTES) >= 0)
        rest = split_note(note, ret);
    if (rest && (!tenant || !strcmp(ret->tenant, tenant->name))) {
        snprintf(ret->id, sizeof(ret->id), "%s", id);
        memmove(note, rest, strlen(rest) + 1);
        return note;
    }
    free(note);
    return NULL;
}

static char *find_note(const char *folder, const struct grant *tenant, const char *id,
                       struct ownership *ret)
{
    struct state_dir dir = { .fd = -1 };
    sbr_error ignored;
    char *facts = NULL;

    if (encoding_is_hex(id, OWNERSHIP_ID_SIZE - 1) &&
        state_open(folder, false, &dir, &ignored) == 1)
        facts = read_note(&dir, tenant, id, ret);
    state_close(&dir);
    return facts;
}

static int not_found(sbr_error *err)
{
    return err_set(err, SBR_E_NOT_FOUND, "session", "there is no session of this id");
}

int ownership_find(const struct grant *tenant, const char *id, struct ownership *ret,
                   sbr_error *err)
{
    scoped_free char *facts = NULL;

    if (tenant->local && strlen(id) < OWNERSHIP_ID_SIZE) {
        snprintf(ret->id, sizeof(ret->id), "%s", id);
        snprintf(ret->own, sizeof(ret->own), "%s", id);
        return 0;
    }
    facts = find_note(STATE_GATEWAY, tenant, id, ret);
    return facts ? 0 : not_found(err);
}

json_t *ownership_facts_json(const char *id)
{
    struct ownership found;
    scoped_free char *text = find_note(STATE_GATEWAY, NULL, id, &found);

    return text ? json_read_own(text, 0) : NULL;
}

int ownership_facts(const struct grant *tenant, const char *id, struct session_facts *ret,
                    sbr_error *err)
{
    json_t *facts;
    int r;

    *ret = (struct session_facts){ .token_id = "" };
    if (tenant->local)
        return 0;
    facts = ownership_facts_json(id);
    r = facts ? session_facts_read(facts, ret, err)
              : err_set(err, SBR_E_DENIED, "session",
                        "it is not known what this session was given; make a new one");
    json_decref(facts);
    return r;
}

static void remove_note(const char *folder, const char *id)
{
    struct state_dir dir = { .fd = -1 };
    sbr_error ignored;

    if (state_open(folder, false, &dir, &ignored) != 1)
        return;
    (void)unlinkat(dir.fd, id, 0);
    state_close(&dir);
}

void ownership_forget(const struct grant *tenant, const struct ownership *o)
{
    if (!tenant->local)
        remove_note(STATE_GATEWAY, o->id);
}

void ownership_note_changes(const char *tenant, const char *id)
{
    struct ownership o;
    sbr_error ignored; /* without a note the tenant cannot find them, and no other one can */

    snprintf(o.id, sizeof(o.id), "%s", id);
    snprintf(o.own, sizeof(o.own), "%s", id);
    snprintf(o.tenant, sizeof(o.tenant), "%s", tenant);
    if (strcmp(tenant, GRANT_LOCAL) != 0)
        (void)!add_note(STATE_CHANGES_OF, &o, "", &ignored);
}

bool ownership_has_changes(const struct grant *tenant, const char *id)
{
    struct ownership found;
    scoped_free char *note = find_note(STATE_CHANGES_OF, tenant, id, &found);

    return note;
}

void ownership_forget_changes(const char *id)
{
    remove_note(STATE_CHANGES_OF, id);
}

int ownership_each(const struct grant *tenant, ownership_visit *visit, void *context,
                   sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    struct listing listing = { 0 };
    int r = state_open(STATE_GATEWAY, false, &dir, err);

    if (r == 1 && listing_read_at(dir.fd, ".", &listing) < 0)
        r = state_fail("read the sessions in", dir.path, err);
    for (size_t i = 0; r == 1 && i < listing.n; i++) {
        struct ownership o;
        scoped_free char *facts = read_note(&dir, tenant, listing.names[i], &o);

        if (facts)
            visit(context, &o);
    }
    listing_done(&listing);
    state_close(&dir);
    return r < 0 ? r : 0;
}
