/* The tests on the hosts execute every line of `fix` as it is. */
#include "lib/doctor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "job/engine_hello.h"

typedef void check_fn(const struct features *f, struct finding *finding);

static void __attribute__((format(printf, 2, 3))) say(struct finding *finding, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(finding->found, sizeof(finding->found), fmt, args);
    va_end(args);
}

/* Adds a line. */
static void __attribute__((format(printf, 2, 3))) fix(struct finding *finding, const char *fmt, ...)
{
    va_list args;

    for (size_t i = 0; i < FIX_LINES; i++) {
        if (finding->fix[i][0])
            continue;
        va_start(args, fmt);
        vsnprintf(finding->fix[i], sizeof(finding->fix[i]), fmt, args);
        va_end(args);
        return;
    }
}

/* Options that a container needs; tried with podman 4.3 and docker 20.10. */
#define PODMAN_OPTIONS "podman run --security-opt unmask=ALL --security-opt apparmor=unconfined ..."
#define DOCKER_OPTIONS                                                                             \
    "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined "          \
    "--security-opt apparmor=unconfined ..."

#define BWRAP_OPTIONS                                                                              \
    "bwrap --bind DIR / --dev-bind /dev /dev --bind /proc /proc --bind /sys /sys ..."

#define UNTIL_BOOT_SYSCTL "until the next boot; the same line in /etc/sysctl.d makes it last"

/* clang-format off */
static const struct {
    const char *found;
    const char *fix[FIX_LINES];
    const char *lasts;
} barriers[N_BARRIERS] = {
    [BARRIER_NONE] = { "allowed", { NULL }, NULL },
    [BARRIER_CLONE_SYSCTL] = { "forbidden to ordinary users by kernel.unprivileged_userns_clone",
        { "sudo sysctl -w kernel.unprivileged_userns_clone=1" }, UNTIL_BOOT_SYSCTL },
    [BARRIER_MAX_SYSCTL] = { "forbidden by user.max_user_namespaces",
        { "sudo sysctl -w user.max_user_namespaces=15000" }, UNTIL_BOOT_SYSCTL },
    [BARRIER_APPARMOR] = {
        "of no use to ordinary users because of kernel.apparmor_restrict_unprivileged_userns",
        { "printf 'abi <abi/4.0>,\\nprofile sandbox-run %s flags=(unconfined) {\\n  userns,\\n}"
          "\\n' "
          "\"$(command -v sandbox-run)\" | sudo tee /etc/apparmor.d/sandbox-run",
          "sudo apparmor_parser -r /etc/apparmor.d/sandbox-run" }, NULL },
    [BARRIER_REFUSED] = { "refused by a container's filter or profile",
        { PODMAN_OPTIONS, DOCKER_OPTIONS }, NULL },
    [BARRIER_CHROOT] = {
        "refused, as they are in a chroot; bubblewrap enters a directory without one",
        { BWRAP_OPTIONS }, NULL },
    [BARRIER_COVERED_PROC] = {
        "of no use here: a container covers parts of /proc, so that no new one may be mounted",
        { PODMAN_OPTIONS, DOCKER_OPTIONS, "bwrap --bind /proc /proc ..." }, NULL },
};
/* clang-format on */

static void check_user_namespaces(const struct features *f, struct finding *finding)
{
    finding->state = f->user_namespaces ? FOUND : MISSING;
    say(finding, "%s", barriers[f->barrier].found);
    for (size_t i = 0; i < FIX_LINES && barriers[f->barrier].fix[i]; i++)
        fix(finding, "%s", barriers[f->barrier].fix[i]);
    finding->lasts = barriers[f->barrier].lasts;
}

#define V2_ROOT "/sys/fs/cgroup"

/* True when the file has the word, between blanks or commas. */
static bool file_names(const char *path, const char *word)
{
    char text[2048];
    char *rest = text;

    if (fd_read_small(AT_FDCWD, path, text, sizeof(text)) < 0)
        return false;
    for (char *name; (name = strsep(&rest, " \n,"));)
        if (!strcmp(name, word))
            return true;
    return false;
}

/* An ordinary user needs a cgroup of its own, and its shell in a cgroup below that. */
static void fix_v2_user(const struct features *f, struct finding *finding)
{
    if (access("/run/systemd/system", F_OK) == 0) {
        fix(finding, "sudo loginctl enable-linger \"$(id -un)\"   # then log in again");
        return;
    }
    fix(finding,
        "sudo sh -c 'cd " V2_ROOT
        " && g=sandbox-run-%u && mkdir -p $g/shell && for c in memory pids "
        "cpu; do echo +$c >cgroup.subtree_control; echo +$c >$g/cgroup.subtree_control; done; "
        "chown "
        "%u $g $g/cgroup.procs $g/cgroup.subtree_control $g/shell/cgroup.procs'",
        f->uid, f->uid);
    fix(finding, "echo $$ | sudo tee " V2_ROOT "/sandbox-run-%u/shell/cgroup.procs", f->uid);
    finding->lasts = "the last line for this shell and what it starts, the others until the next "
                     "boot; repeat the last one in a new shell";
}

/* Root of a container: its cgroup holds processes, so that it cannot pass controllers on. */
static void fix_v2_root(struct finding *finding)
{
    if (access(V2_ROOT, W_OK) < 0) {
        fix(finding, PODMAN_OPTIONS);
        fix(finding, "docker run -v /sys/fs/cgroup:/sys/fs/cgroup:rw ...");
        return;
    }
    fix(finding,
        "mkdir -p " V2_ROOT "/all && for p in $(cat " V2_ROOT "/cgroup.procs); do echo $p >" V2_ROOT
        "/all/cgroup.procs; done 2>/dev/null; for c in memory "
        "pids cpu; do echo +$c >" V2_ROOT "/cgroup.subtree_control; done");
    finding->lasts = "until the container ends";
}

static void fix_v1(const struct features *f, struct finding *finding)
{
    fix(finding,
        "for c in memory pids cpuacct cpu; do g=" V2_ROOT "/$c/sandbox-run-%u; sudo mkdir -p $g && "
        "sudo chown -R %u $g && echo $$ | sudo tee $g/tasks; done",
        f->uid, f->uid);
    finding->lasts = "for this shell and what it starts; repeat it in a new shell";
}

static void fix_controller(const struct features *f, enum cgroup_controller which,
                           struct finding *finding)
{
    const char *name = features_controller_name(which);
    bool v2 = access(V2_ROOT "/cgroup.controllers", F_OK) == 0;

    if (which == CG_MEMORY && file_names("/proc/cmdline", "cgroup_disable=memory")) {
        say(finding, "the kernel was booted without it");
        snprintf(finding->boot, sizeof(finding->boot), "-cgroup_disable=memory");
    } else if (access(V2_ROOT, F_OK) < 0 || (!v2 && access(V2_ROOT "/memory", F_OK) < 0)) {
        fix(finding, "sudo mount -t cgroup2 cgroup2 " V2_ROOT);
        finding->lasts = "until the next boot";
    } else if (!v2) {
        fix_v1(f, finding);
    } else if (which != CG_CPUACCT && !file_names(V2_ROOT "/cgroup.controllers", name)) {
        say(finding, "not given to this machine or container");
        if (f->uid == 0)
            fix_v2_root(finding);
    } else if (f->uid == 0) {
        fix_v2_root(finding);
    } else if (access(V2_ROOT "/cgroup.type", F_OK) == 0) { /* not the root: in a container */
        say(finding, "the groups of this container are for its root alone");
    } else {
        fix_v2_user(f, finding);
    }
}

static void check_controller(const struct features *f, enum cgroup_controller which,
                             struct finding *finding)
{
    const struct cgroup_features *cg = &f->cgroup;

    if (cg->usable & 1u << which) {
        if (cg->need == CGROUP_SCOPE)
            say(finding, "cgroup v2, in a scope that systemd gives on request");
        else
            say(finding, "cgroup %s at %.150s", plan_cgroup_kind_name(cg->kind),
                cg->parent[cg->kind == CGROUP_V2 ? 0 : which]);
        return;
    }
    finding->state = which == CG_CPU ? WEAKER : MISSING; /* only --cpus needs it */
    say(finding, "no cgroup that uid %u may use", f->uid);
    fix_controller(f, which, finding);
}

static void check_seccomp(const struct features *f, struct finding *finding)
{
    say(finding, f->seccomp ? "filters" : "not in this kernel");
    finding->state = f->seccomp ? FOUND : MISSING;
}

static void check_landlock(const struct features *f, struct finding *finding)
{
    char active[160] = "lockdown,yama,integrity,apparmor,bpf";

    if (f->landlock_abi) {
        say(finding, "ABI %d", f->landlock_abi);
        return;
    }
    finding->state = WEAKER;
    if (file_names("/sys/kernel/security/lsm", "landlock")) {
        say(finding, "active in the kernel, but refused to us, as a container's filter does");
        return;
    }
    say(finding, "not active; a second layer is missing");
    (void)fd_read_small(AT_FDCWD, "/sys/kernel/security/lsm", active, sizeof(active));
    active[strcspn(active, "\n")] = '\0';
    snprintf(finding->boot, sizeof(finding->boot), "+lsm=landlock,%s", active);
}

static void check_core_pattern(const struct features *f, struct finding *finding)
{
    char text[256] = "";

    (void)f;
    (void)fd_read_small(AT_FDCWD, "/proc/sys/kernel/core_pattern", text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    say(finding, "%.60s%s", text,
        *text == '|' ? " (a handler on the host; sandboxed programs never reach it)" : "");
}

static void check_engine(const struct features *f, struct finding *finding)
{
    struct engine_identity who = { .pidfd = -1 };
    sbr_error none;

    (void)f;
    if (engine_hello(&who, &none) < 0) {
        say(finding, "%s", none.code == SBR_E_NOT_FOUND ? "none runs" : none.message);
        return;
    }
    close(who.pidfd);
    if (who.kind == ENGINE_OF_OURS) {
        say(finding, "process %d of version %s", (int)who.pid, who.release);
        return;
    }
    finding->state = WEAKER;
    engine_hello_describe(&who, finding->found, sizeof(finding->found));
    if (who.kind == ENGINE_HANGS)
        fix(finding, "kill -9 %d", (int)who.pid);
    else
        fix(finding, "sandbox-run serve --stop && sandbox-run serve --daemon");
}

/* clang-format off */
static const struct {
    const char *name;
    check_fn *check; /* NULL: of the cgroup controller */
    enum cgroup_controller controller;
} checks[] = {
    { "user namespaces", check_user_namespaces, 0 },
    { "memory limit",    NULL, CG_MEMORY  },
    { "process limit",   NULL, CG_PIDS    },
    { "CPU time",  NULL, CG_CPUACCT },
    { "CPU quota", NULL, CG_CPU     },
    { "seccomp",         check_seccomp,      0 },
    { "landlock",        check_landlock,     0 },
    { "core dumps",      check_core_pattern, 0 },
    { "engine",          check_engine,       0 },
};
/* clang-format on */

_Static_assert(ARRAY_LEN(checks) <= DOCTOR_MAX, "every check has a place");

size_t doctor_examine(const struct features *features, struct finding *findings)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        findings[i] = (struct finding){ .name = checks[i].name };
        if (checks[i].check)
            checks[i].check(features, &findings[i]);
        else
            check_controller(features, checks[i].controller, &findings[i]);
    }
    return ARRAY_LEN(checks);
}
