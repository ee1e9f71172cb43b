#include "http/ownership.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/scope.h"
#include "changes/state_dir.h"

#define STATE_GATEWAY "gateway"
#define STATE_CHANGES_OF "gateway-changes"
#define LINE_SIZE (TENANT_NAME_SIZE + OWNERSHIP_ID_SIZE + 2)

static int add_note(const char *folder, const char *tenant, const struct ownership *o,
                    sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    scoped_fd int fd = -1;
    char line[LINE_SIZE];
    int len, r = 0;

    if (state_open(folder, true, &dir, err) < 0)
        return err->code;
    len = snprintf(line, sizeof(line), "%s %s", tenant, o->own);
    fd = openat(dir.fd, o->id, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fd_write_all(fd, line, (size_t)len) < 0)
        r = state_fail("note an id in", dir.path, err);
    state_close(&dir);
    return r;
}

int ownership_add(const struct tenant *tenant, struct ownership *o, sbr_error *err)
{
    if (tenant->local) {
        memcpy(o->id, o->own, sizeof(o->id));
        return 0;
    }
    if (encoding_random_id(o->id) < 0)
        return err_set_errno(err, "http", "there are no random numbers");
    return add_note(STATE_GATEWAY, tenant->name, o, err);
}

/* False: there is no such note, or it is another tenant's. */
static bool read_note(const struct state_dir *dir, const struct tenant *tenant, const char *id,
                      struct ownership *ret)
{
    size_t len = strlen(tenant->name);
    char line[LINE_SIZE];

    if (fd_read_small(dir->fd, id, line, sizeof(line)) < 0 ||
        strncmp(line, tenant->name, len) != 0 || line[len] != ' ')
        return false;
    snprintf(ret->id, sizeof(ret->id), "%s", id);
    snprintf(ret->own, sizeof(ret->own), "%.*s", OWNERSHIP_ID_SIZE - 1, line + len + 1);
    return true;
}

int ownership_find(const struct tenant *tenant, const char *id, struct ownership *ret,
                   sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    bool found = false;

    if (tenant->local && strlen(id) < OWNERSHIP_ID_SIZE) {
        snprintf(ret->id, sizeof(ret->id), "%s", id);
        snprintf(ret->own, sizeof(ret->own), "%s", id);
        return 0;
    }
    if (encoding_is_hex(id, OWNERSHIP_ID_SIZE - 1) &&
        state_open(STATE_GATEWAY, false, &dir, err) == 1) {
        found = read_note(&dir, tenant, id, ret);
        state_close(&dir);
    }
    return found ? 0 : err_set(err, SBR_E_NOT_FOUND, "session", "there is no session of this id");
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

void ownership_forget(const struct tenant *tenant, const struct ownership *o)
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
    if (strcmp(tenant, TENANT_LOCAL) != 0)
        (void)!add_note(STATE_CHANGES_OF, tenant, &o, &ignored);
}

bool ownership_has_changes(const struct tenant *tenant, const char *id)
{
    struct state_dir dir = { .fd = -1 };
    struct ownership found;
    sbr_error ignored;
    bool has;

    if (state_open(STATE_CHANGES_OF, false, &dir, &ignored) != 1)
        return false;
    has = read_note(&dir, tenant, id, &found);
    state_close(&dir);
    return has;
}

void ownership_forget_changes(const char *id)
{
    remove_note(STATE_CHANGES_OF, id);
}

int ownership_each(const struct tenant *tenant, ownership_visit *visit, void *context,
                   sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    struct listing listing = { 0 };
    int r = state_open(STATE_GATEWAY, false, &dir, err);

    if (r == 1 && listing_read_at(dir.fd, ".", &listing) < 0)
        r = state_fail("read the sessions in", dir.path, err);
    for (size_t i = 0; r == 1 && i < listing.n; i++) {
        struct ownership o;

        if (read_note(&dir, tenant, listing.names[i], &o))
            visit(context, &o);
    }
    listing_done(&listing);
    state_close(&dir);
    return r < 0 ? r : 0;
}
