#include "explain/denial_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/address.h"
#include "model/network.h"

#define MAX_LINE 2048
#define MAX_PATH_TEXT 512

/* What languages and tools print for an error; longer forms first.  Java and .NET print only the
 * name of the exception. */
/* clang-format off */
static const struct phrase {
    const char *text; /* lower case */
    int error;
} phrases[] = {
    { "permission denied",                 EACCES },
    { "read-only file system",             EROFS  },
    { "operation not permitted",           EPERM  },
    { "no such file or directory",         ENOENT },
    { "no such file",                      ENOENT },
    { "accessdeniedexception",             EACCES },
    { "nosuchfileexception",               ENOENT },
    { "access to the path",                EACCES },
    { "could not find a part of the path", ENOENT },
    { "could not find file",               ENOENT },
    { "invalid cross-device link",         EXDEV  },
    { "cross-device link not permitted",   EXDEV  },
    { "value too large for defined data type", EOVERFLOW },
};

/* What may stand between such a phrase and a path after it; '*' is one word. */
static const char *const joints[] = {
    ": ",      /* Python: Permission denied: '/usr/x' */
    " : ",     /* .NET */
    ", * ",    /* Node: EACCES: permission denied, open '/usr/x' */
    " @ * - ", /* Ruby: Permission denied @ rb_sysopen - /usr/x (Errno...) */
    " [",      /* C++: cannot create directory: Permission denied [/usr/x] */
    " ",       /* .NET: Access to the path '/usr/x' is denied */
};
/* clang-format on */

struct line {
    const char *text;
    size_t len;
};

/* A path that a line names, and the error of its use. */
struct saying {
    char path[MAX_PATH_TEXT];
    int error;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has_at(struct line line, size_t at, const char *lower_text)
{
    size_t len = strlen(lower_text);

    if (len > line.len - at)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(line.text[at + i]) != lower_text[i])
            return false;
    return true;
}

static const struct phrase *phrase_at(struct line line, size_t at)
{
    char first = lower(line.text[at]);

    for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
        if (phrases[i].text[0] == first && has_at(line, at, phrases[i].text))
            return &phrases[i];
    return NULL;
}

static const struct phrase *find_phrase(struct line line, size_t *ret_at)
{
    const struct phrase *found = NULL;

    for (size_t at = 0; at < line.len && !found; at++) {
        found = phrase_at(line, at);
        *ret_at = at;
    }
    return found;
}

/* The end of the path that begins at `at`: its closing quote or bracket, or what follows it. */
static size_t path_end(struct line line, size_t at)
{
    char before = at ? line.text[at - 1] : ' ';
    bool curly = at >= 3 && !memcmp(line.text + at - 3, "\xe2\x80\x98", 3);
    char close = before == '(' ? ')' : before == '[' ? ']' : before == '`' ? '\'' : before;
    size_t end = at;

    for (; end < line.len; end++) {
        struct line rest = { line.text + end, line.len - end };

        if (strchr("'\"`([", before) && rest.text[0] == close)
            break;
        if (has_at(rest, 0, ": ") || has_at(rest, 0, " (") ||
            (curly && has_at(rest, 0, "\xe2\x80\x99")))
            break;
    }
    while (end > at + 1 && strchr(" .,:;", line.text[end - 1]))
        end--;
    return end;
}

static bool take_path(struct line line, size_t at, struct saying *ret)
{
    size_t len;

    if (at >= line.len || line.text[at] != '/')
        return false;
    len = path_end(line, at) - at;
    if (len >= sizeof(ret->path) || memchr(line.text + at, '\0', len))
        return false;
    memcpy(ret->path, line.text + at, len);
    ret->path[len] = '\0';
    return true;
}

/* Skips the joint and an opening quote; 0: the joint does not match. */
static size_t skip_joint(struct line line, size_t at, const char *joint)
{
    for (; *joint; joint++) {
        size_t start = at;

        if (*joint != '*') {
            if (at >= line.len || line.text[at] != *joint)
                return 0;
            at++;
            continue;
        }
        while (at < line.len && line.text[at] != ' ' && line.text[at] != '/')
            at++;
        if (at == start)
            return 0;
    }
    return at < line.len && strchr("'\"`", line.text[at]) ? at + 1 : at;
}

static bool path_behind(struct line line, size_t at, struct saying *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(joints); i++) {
        size_t start = skip_joint(line, at, joints[i]);

        if (start && take_path(line, start, ret))
            return true;
    }
    return false;
}

static bool begins_path(struct line line, size_t at)
{
    if (line.text[at] != '/')
        return false;
    return at == 0 || strchr(" '\"`([=<", line.text[at - 1]) ||
           (at >= 3 && !memcmp(line.text + at - 3, "\xe2\x80\x98", 3));
}

/* The last one: the tool's own name and its intention stand before the path. */
static bool path_before(struct line line, size_t at, struct saying *ret)
{
    while (at-- > 0)
        if (begins_path(line, at))
            return take_path(line, at, ret);
    return false;
}

static bool read_line(struct line line, struct saying *ret)
{
    const struct phrase *phrase;
    size_t at = 0, behind;

    phrase = find_phrase(line, &at);
    if (!phrase)
        return false;
    ret->error = phrase->error;
    behind = at + strlen(phrase->text);
    return path_behind(line, behind, ret) || path_before(line, at, ret);
}

/* `tree` is the path itself or above it. */
static bool lies_in(const char *path, const char *tree)
{
    size_t len = strlen(tree);

    return len == 1 || (!strncmp(path, tree, len) && (path[len] == '\0' || path[len] == '/'));
}

static bool same_first_name(const char *path, const char *to)
{
    size_t len = strcspn(to, "/");

    return !strncmp(path + 1, to, len) && (path[1 + len] == '\0' || path[1 + len] == '/');
}

static bool is_in_root(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_ops; i++)
        if (same_first_name(path, plan->ops[i].to))
            return true;
    return false;
}

/* Directories, and the top-level links that stand for one, such as /bin. */
static bool is_tree(const struct plan_op *op)
{
    switch (op->kind) {
    case OP_DIR:
    case OP_BIND:
    case OP_PROC:
    case OP_DEVPTS:
    case OP_SCRATCH:
    case OP_COW:
        return true;
    case OP_SYMLINK:
        return !strchr(op->to, '/');
    case OP_FILE:
    case OP_COPY:
    case OP_DEVICE:
    case OP_EMPTY:
    case OP_MASK:
    case OP_PROGRAM:
    case N_OPS:
        break;
    }
    return false;
}

/* The innermost tree of the plan that contains the path; NULL: only the root itself. */
static const struct plan_op *tree_of(const struct plan *plan, const char *path)
{
    const struct plan_op *best = NULL;

    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        if (is_tree(op) && lies_in(path + 1, op->to) &&
            (!best || strlen(op->to) >= strlen(best->to)))
            best = op;
    }
    return best;
}

#define WRITE_HERE "write below /work or /tmp"

/* Suggests only what a shell takes unquoted and the option can express. */
static void format_volume(const char *from, const char *to, const char *mode, char *remedy,
                          size_t size)
{
    const char *plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@%,=";
    bool simple = from[strspn(from, plain)] == '\0' && to[strspn(to, plain)] == '\0' && *to;
    int n = simple ? snprintf(remedy, size, "--volume %s:/%s:%s", from, to, mode) : -1;

    if (n < 0 || (size_t)n >= size)
        snprintf(remedy, size, "bring it in with --volume or --file");
}

static void note_missing(const struct saying *said, const char *why, struct denials *ret)
{
    char remedy[sizeof(ret->items->remedy)];

    format_volume(said->path, said->path + 1, "ro", remedy, sizeof(remedy));
    denials_note(ret, DENIAL_FILE, why, remedy, "%s", said->path);
}

/* What unprivileged overlayfs cannot do, with a remedy. */
static void note_cow(const struct saying *said, struct denials *ret)
{
    if (said->error == EXDEV)
        denials_note(ret, DENIAL_FILE,
                     "stderr: copy-on-write: a directory of the project is not renamed in one step",
                     "copy and delete as mv does, or SANDBOX_RUN_COW=copy", "%s", said->path);
    else if (said->error != EROFS)
        denials_note(ret, DENIAL_FILE,
                     "stderr: copy-on-write: it belongs to another user or group than the project",
                     "change its owner, or SANDBOX_RUN_COW=copy", "%s", said->path);
}

static bool is_of_cow(int error)
{
    return error == EXDEV || error == EOVERFLOW;
}

/* A read-only tree of the user. */
static bool is_volume(const struct plan_op *tree)
{
    return tree->kind == OP_BIND && tree->from && tree->flags & OP_VIEW_ONLY;
}

/* The rights of the file itself refuse what is not EROFS.  A tree that root has passed is read with
 * the id of the run, unless it is copy-on-write: then its owner is the user inside. */
static void note_volume(const struct plan_op *tree, const struct saying *said, struct denials *ret)
{
    char remedy[sizeof(ret->items->remedy)], rule[sizeof(ret->items->rule)];

    if (said->error == EROFS) {
        snprintf(rule, sizeof(rule), "volumes: /%.80s is read-only", tree->to);
        format_volume(tree->from, tree->to, "rw", remedy, sizeof(remedy));
    } else {
        snprintf(rule, sizeof(rule), "volumes: the user inside has no right to it in /%.60s",
                 tree->to);
        snprintf(remedy, sizeof(remedy), "give the calling user the right to it");
        if (tree->flags & OP_PASSED)
            format_volume(tree->from, tree->to, "cow", remedy, sizeof(remedy));
    }
    denials_note(ret, DENIAL_FILE, rule, remedy, "%s", said->path);
}

/* The operation that hides the path, or a directory above it; NULL: none does. */
static const struct plan_op *left_out_at(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->n_ops; i++) {
        const struct plan_op *op = &plan->ops[i];

        if (op->flags & OP_LEFT_OUT && op->from && lies_in(path + 1, op->to))
            return op;
    }
    return NULL;
}

static void note_left_out(const struct plan *plan, const struct plan_op *hidden,
                          const struct saying *said, struct denials *ret)
{
    const struct plan_op *tree = tree_of(plan, said->path);
    char remedy[sizeof(ret->items->remedy)], rule[sizeof(ret->items->rule)];

    snprintf(rule, sizeof(rule), "excludes: /%.80s is left out", hidden->to);
    snprintf(remedy, sizeof(remedy), "--include %.150s",
             tree ? hidden->to + strlen(tree->to) + 1 : hidden->to);
    denials_note(ret, DENIAL_FILE, rule, remedy, "%s", said->path);
}

static void note_root(const struct plan *plan, const struct saying *said, struct denials *ret)
{
    const struct plan_op *tree = tree_of(plan, said->path);
    const struct plan_op *hidden = left_out_at(plan, said->path);
    char rule[sizeof(ret->items->rule)];

    if (hidden) {
        note_left_out(plan, hidden, said, ret);
        return;
    }
    if (said->error == ENOENT) {
        if (!is_in_root(plan, said->path))
            note_missing(said, "stderr: root: not in the sandbox", ret);
        return;
    }
    if (tree && tree->kind == OP_COW)
        note_cow(said, ret);
    if (is_of_cow(said->error) ||
        (tree && (tree->kind == OP_SCRATCH || tree->kind == OP_COW || tree->flags & OP_WRITABLE)))
        return; /* writable for the program: not our refusal */
    if (tree && is_volume(tree)) {
        note_volume(tree, said, ret);
        return;
    }
    snprintf(rule, sizeof(rule), "stderr: root: /%.80s is read-only%s", tree ? tree->to : "",
             said->error == EROFS ? "" : ", or the file is closed to the user inside");
    denials_note(ret, DENIAL_FILE, rule, WRITE_HERE, "%s", said->path);
}

/* Without a root of its own the program sees the host's tree, and Landlock refuses parts of it. */
static void note_host_tree(const struct plan *plan, const struct saying *said, struct denials *ret)
{
    const struct plan_rule *best = NULL;

    if (said->error == ENOENT || is_of_cow(said->error) || lies_in(said->path, plan->run_dir))
        return;
    for (size_t i = 0; i < plan->n_rules; i++)
        if (lies_in(said->path, plan->rules[i].path) &&
            (!best || plan->rules[i].access > best->access))
            best = &plan->rules[i];
    if (best && best->access != ACCESS_READ)
        return;
    if (best)
        denials_note(ret, DENIAL_FILE, "stderr: landlock: can be read only",
                     "write below the work directory or $TMPDIR", "%s", said->path);
    else
        note_missing(said, "stderr: landlock: not among what can be read", ret);
}

/* Where one of the texts begins in the line, behind it; 0: nowhere. */
static size_t find_any(struct line line, const char *const *texts, size_t n)
{
    for (size_t at = 0; at < line.len; at++)
        for (size_t i = 0; i < n; i++)
            if (has_at(line, at, texts[i]))
                return at + strlen(texts[i]);
    return 0;
}

/* The port of loopback that refused a connection, by the words of the program; 0: none did. */
static unsigned int refused_port(struct line line)
{
    static const char *const words[] = { "refused", "couldn't connect", "failed to connect" };
    static const char *const hosts[] = { "127.0.0.1", "localhost", "::1" };
    size_t at = find_any(line, hosts, ARRAY_LEN(hosts));
    size_t most = at + sizeof("', port=");
    unsigned int port = 0;

    if (!at || !find_any(line, words, ARRAY_LEN(words)))
        return 0;
    while (at < line.len && at < most && !(line.text[at] >= '0' && line.text[at] <= '9'))
        at++;
    for (; at < line.len && line.text[at] >= '0' && line.text[at] <= '9' && port <= 65535; at++)
        port = 10 * port + (unsigned int)(line.text[at] - '0');
    return port <= 65535 ? port : 0;
}

/* With egress, loopback is the sandbox's own, and nobody of us sees a connection to it. */
static void note_loopback(const struct plan *plan, struct line line, struct denials *ret)
{
    unsigned int port = network_goes_outside(plan->network) ? refused_port(line) : 0;
    char remedy[64];

    for (size_t i = 0; i < plan->n_forward_ports; i++)
        if (plan->forward_ports[i] == port)
            return; /* allowed: then the host's server refused it */
    if (!port)
        return;
    snprintf(remedy, sizeof(remedy), "--allow-host localhost:%u", port);
    denials_note(ret, DENIAL_CONNECT, "stderr: network: localhost is the sandbox's own", remedy,
                 "localhost:%u", port);
}

static void look_at_line(const struct plan *plan, struct line line, struct denials *ret)
{
    struct saying said;

    if (line.len <= MAX_LINE) {
        note_loopback(plan, line, ret);
        denial_command_note(plan, line.text, line.len, ret);
    }
    if (line.len > MAX_LINE || !read_line(line, &said) || strstr(said.path, "/.."))
        return; /* only the kernel can resolve ".." */
    if (plan->run_dir)
        note_host_tree(plan, &said, ret);
    else
        note_root(plan, &said, ret);
}

/* A program's own resolver, such as Go's, prints the name of a lookup, which we did not see. */
static bool name_lookup(struct line line, struct denial *lookup)
{
    static const char before[] = "lookup ", after[] = " on " EGRESS_RESOLVER4;
    const char *end = memmem(line.text, line.len, after, sizeof(after) - 1), *start;
    char name[HOSTNAME_SIZE];

    if (!end)
        return false;
    for (start = end; start > line.text && start[-1] != ' '; start--)
        continue;
    if (start - line.text < (ptrdiff_t)sizeof(before) - 1 ||
        memcmp(start - (sizeof(before) - 1), before, sizeof(before) - 1) != 0 ||
        !hostname_canonical(start, (size_t)(end - start), name))
        return false;
    snprintf(lookup->target, sizeof(lookup->target), "%s", name);
    snprintf(lookup->remedy, sizeof(lookup->remedy), "--network allow --allow-host %s", name);
    return true;
}

static struct denial *find_lookup(const struct denials *denials)
{
    for (size_t i = 0; i < denials->n; i++)
        if (denials->items[i].kind == DENIAL_NAME &&
            !strcmp(denials->items[i].target, DENIAL_SOME_NAME))
            return &denials->items[i];
    return NULL;
}

void denial_text(const struct plan *plan, const char *text, size_t len, struct denials *ret)
{
    struct denials found = { 0 };
    size_t skip = len > DENIAL_TEXT_BYTES ? len - DENIAL_TEXT_BYTES : 0;
    const char *end = text + len, *stop;
    struct denial *lookup = find_lookup(ret);

    for (const char *start = text + skip; start < end && found.n < DENIAL_TEXT_MAX;
         start = stop + 1) {
        stop = memchr(start, '\n', (size_t)(end - start));
        if (!stop)
            stop = end;
        look_at_line(plan, (struct line){ start, (size_t)(stop - start) }, &found);
        if (lookup && name_lookup((struct line){ start, (size_t)(stop - start) }, lookup))
            lookup = NULL;
    }
    denials_merge(ret, &found);
}
