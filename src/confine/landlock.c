/* Landlock: a second layer over the file tree, and the only one without namespaces.  Rules name
 * paths of the new root. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/landlock_calls.h"
#include "confine/confiner.h"

#define OF_A_FILE                                                                                  \
    (LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE |             \
     LANDLOCK_IOCTL_DEV)
#define TO_READ (LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)

static void landlock_probe(struct features *features)
{
    features->landlock_abi = landlock_abi();
}

/* Which rights the kernel need not look at.  As soon as one of them is handled, it walks the whole
 * path at every open, which makes an open a half dearer.  A root of the run's own may be read as a
 * whole, what may not be written is mounted read-only, and devices are there in /dev alone; a run
 * among the host's files has none of that. */
static uint64_t rights_left_out(const struct plan *plan)
{
    return plan->run_dir ? 0 : TO_READ | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV;
}

static uint64_t rights_of(enum access_kind access)
{
    switch (access) {
    case ACCESS_READ:
        return TO_READ;
    case ACCESS_DEVICES:
        return TO_READ | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV;
    case ACCESS_WRITE:
        return UINT64_MAX;
    }
    return 0;
}

static int add_rule(int ruleset, const struct plan_rule *rule, uint64_t handled, sbr_error *err)
{
    /* A writable path was no link when it was named, but a process that may write above it could
     * have replaced it by one. */
    int follow = rule->access == ACCESS_WRITE ? O_NOFOLLOW : 0;
    scoped_fd int fd = open(rule->path, O_PATH | O_CLOEXEC | follow);
    uint64_t rights = rights_of(rule->access) & handled;
    struct stat st;

    if (fd < 0 && errno == ENOENT && rule->optional)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set_errno(err, "landlock", "cannot open '%s'", rule->path);
    if (S_ISLNK(st.st_mode))
        return err_set(err, SBR_E_DENIED, "landlock", "'%s' has become a link", rule->path);
    if (inode_id_check(rule->was, &st, rule->path, err) < 0)
        return err->code;
    if (!S_ISDIR(st.st_mode))
        rights &= OF_A_FILE;
    if (rights && landlock_allow(ruleset, fd, rights) < 0)
        return err_set_errno(err, "landlock", "cannot allow '%s'", rule->path);
    return 0;
}

static int landlock_apply(struct inside *in, sbr_error *err)
{
    const struct plan *plan = in->plan;
    uint64_t net = plan->network == NETWORK_NONE ? LANDLOCK_BIND_TCP | LANDLOCK_CONNECT_TCP : 0;
    uint64_t handled;
    scoped_fd int ruleset = -1;

    if (plan->landlock_abi == 0)
        return 0; /* the planner names it in isolation.missing */
    ruleset = landlock_create(plan->landlock_abi, rights_left_out(plan), net, &handled);
    if (ruleset < 0)
        return err_set_errno(err, "landlock", "cannot create a ruleset");
    for (size_t i = 0; i < plan->n_rules; i++)
        if (add_rule(ruleset, &plan->rules[i], handled, err) < 0)
            return err->code;
    if (landlock_enforce(ruleset) < 0)
        return err_set_errno(err, "landlock", "cannot restrict the process");
    return 0;
}

const struct confiner landlock_confiner = { "landlock", landlock_probe, landlock_apply };
