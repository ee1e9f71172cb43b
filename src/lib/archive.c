#include "lib/archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/text.h"
#include "lib/tool_job.h"

#define INSIDE_TREE "/workspace" /* where tar sees the tree that it packs */
#define HEAD 512                 /* bytes of an archive that show what it is */
#define NEEDED "archives need"
#define TAR_MEMORY ((uint64_t)256 << 20)

/* How compressed archives begin, and what their names end with.  zip is no tar archive at all. */
static const struct packer {
    const char *magic;
    size_t len;
    const char *name; /* also of the program that packs and unpacks it */
    const char *option;
    const char *suffix, *short_suffix;
} packers[] = {
    { "\x1f\x8b", 2, "gzip", "--gzip", ".gz", ".tgz" },
    { "\x28\xb5\x2f\xfd", 4, "zstd", "--zstd", ".zst", ".tzst" },
    { "\xfd\x37zXZ", 5, "xz", "--xz", ".xz", ".txz" },
    { "BZh", 3, "bzip2", "--bzip2", ".bz2", ".tbz2" },
    { "PK\x03\x04", 4, "zip", NULL, ".zip", ".zip" },
};

/* NULL: not compressed. */
static const struct packer *packer_of_head(const char *head, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(packers); i++)
        if (len >= packers[i].len && !memcmp(head, packers[i].magic, packers[i].len))
            return &packers[i];
    return NULL;
}

static const struct packer *packer_of_name(const char *name)
{
    size_t len = name ? strlen(name) : 0;

    for (size_t i = 0; name && i < ARRAY_LEN(packers); i++)
        if (text_ends(name, len, packers[i].suffix) ||
            text_ends(name, len, packers[i].short_suffix))
            return &packers[i];
    return NULL;
}

int archive_refuse(sbr_error *err)
{
    sbr_error why = *err;

    return err_set(err, why.code, "import",
                   "the archive is refused: %.300s; nothing of it was taken", why.message);
}

/* tar reads on when the disk is full, so this bounds what a bomb takes.  Honest archives need far
 * less. */
static uint64_t import_cpu_ms(const struct workspace_quota *quota)
{
    return 20000 + (quota->bytes >> 24) * 1000 + quota->inodes / 10;
}

static void import_limits(const struct workspace_quota *quota, struct limits *limits)
{
    uint64_t memory = quota->bytes + TAR_MEMORY; /* files inside are memory */

    limits->value[SBR_DISK_BYTES] = quota->bytes;
    limits->value[SBR_INODES] = quota->inodes;
    limits->value[SBR_CPU_MS] = import_cpu_ms(quota);
    if (memory > limits->value[SBR_MEMORY_BYTES])
        limits->value[SBR_MEMORY_BYTES] = memory;
}

/* What the programs inside need. */
static int check_packer(const struct packer *packer, const char *stage, sbr_error *err)
{
    if (packer && !packer->option)
        return err_set(err, SBR_E_INVALID, stage,
                       "a %s file is no tar archive; .tar, .tar.gz and .tar.zst are known here",
                       packer->name);
    if (packer && tool_job_check(packer->name, NEEDED, stage, err) < 0)
        return err->code;
    return tool_job_check("tar", NEEDED, stage, err);
}

/* The first bytes show empty and compressed archives.  The supervisor looks at nothing else of an
 * archive. */
static int read_head(struct archive_source *source, char head[HEAD], size_t *ret_len,
                     const struct packer **ret_packer, sbr_error *err)
{
    ssize_t n = fd_read_full(source->fd, head, HEAD);

    if (n < 0)
        return err_set_errno(err, "import", "cannot read the archive");
    if (n == 0)
        return err_set(err, SBR_E_INVALID, "import", "the archive is empty");
    *ret_len = (size_t)n;
    *ret_packer = packer_of_head(head, (size_t)n);
    return check_packer(*ret_packer, "import", err);
}

static void note_left_out(const struct tar_words *said, const struct collect_list *list,
                          struct archive_left_out *ret)
{
    *ret = (struct archive_left_out){ .n = said->devices };
    snprintf(ret->first, sizeof(ret->first), "%s", said->device);
    for (size_t i = 0; list && i < list->n; i++) {
        const char *path = collect_list_path(list, i);

        if (list->items[i].kind == COLLECT_OTHER && ret->n++ == 0)
            text_copy_visibly(ret->first, sizeof(ret->first), path, strlen(path));
    }
}

/* 0: the sandbox handed everything out. */
static int check_part(const struct collect_part *part, sbr_error *err)
{
    if (part->complete)
        return 0;
    if (part->failure.code)
        return err_set(err, part->failure.code == SBR_E_DENIED ? SBR_E_INVALID : part->failure.code,
                       "import", "%.300s", part->failure.message);
    return err_set(err, SBR_E_SYSTEM, "import", "the sandbox ended before all files were taken");
}

#define TAR_EXTRACT "tar --extract --file=- --same-permissions --delay-directory-restore"

/* What unpacks stdin, for a line of shell. */
static const char *unpacker(const struct packer *packer, char buf[32])
{
    snprintf(buf, 32, "%s%s", packer ? packer->name : "cat", packer ? " -dc" : "");
    return buf;
}

/* tar itself, or with zeros behind the archive, which end it. */
static char *extract_line(const struct archive_source *source, const struct packer *packer)
{
    char words[32];

    if (source->may_end_early)
        return text_format("{ %s; head -c 10240 /dev/zero; } | " TAR_EXTRACT,
                           unpacker(packer, words));
    return text_format("exec " TAR_EXTRACT " %s", packer ? packer->option : "");
}

int archive_judge(const sbr_result *result, sbr_error *err)
{
    struct tar_words said = tar_words_read(result->err.data, result->err.len);

    return tar_words_judge(&said, result, err) < 0 ? archive_refuse(err) : 0;
}

int archive_unpacker(int fd, char words[32], sbr_error *err)
{
    char head[HEAD];
    ssize_t n = pread(fd, head, sizeof(head), 0);
    const struct packer *packer = n > 0 ? packer_of_head(head, (size_t)n) : NULL;

    if (n < 0)
        return err_set_errno(err, "import", "cannot read the archive");
    if (check_packer(packer, "import", err) < 0)
        return err->code;
    (void)unpacker(packer, words);
    return 0;
}

int archive_digest(const sbr_runtime *rt, int fd, char digest[SHA256_HEX_SIZE], sbr_error *err)
{
    const char *words[] = { "sh", "-c", NULL, NULL };
    struct tool_job tool = { .rt = rt, .options = { .keep_output = true, .stdin_fd = fd } };
    scoped_free char *line = NULL;
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    char program[32];
    int r;

    if (archive_unpacker(fd, program, err) < 0)
        return err->code;
    line = text_format("%s | sha256sum", program);
    if (!line)
        return err_set_oom(err, "import");
    words[2] = line;
    r = tool_job_request(words, &req, err);
    if (r == 0)
        r = tool_job_run(&tool, req, &result, err);
    if (r == 0 && result && (result->out.len < 64 || !result_success(result)))
        r = err_set(err, SBR_E_INVALID, "import", "the archive cannot be unpacked");
    if (r == 0 && result)
        snprintf(digest, SHA256_HEX_SIZE, "%.64s", result->out.data);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = err_set_errno(err, "import", "cannot read the archive");
    result_free(result);
    request_free(req);
    return r;
}

int archive_unpack(const sbr_runtime *rt, int tree_fd, struct archive_source *source,
                   struct collect_list *list, sbr_error *err)
{
    const char *words[] = { "sh", "-c", NULL, NULL };
    scoped_free char *line = NULL;
    struct collect_part part = { .dir_fd = tree_fd, .list = list };
    const struct packer *packer = NULL;
    struct tool_job run = { .rt = rt,
                            .options = { .keep_output = true, .stdin_fd = source->fd },
                            .work_part = &part };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    struct tar_words said;
    char head[HEAD];
    int r = read_head(source, head, &run.options.stdin_len, &packer, err);

    run.options.stdin_data = head;
    words[2] = line = r == 0 ? extract_line(source, packer) : NULL;
    if (r == 0 && !line)
        r = err_set_oom(err, "import");
    if (r == 0)
        r = tool_job_request(words, &req, err);
    if (r == 0 && req) {
        import_limits(&source->quota, &req->limits);
        r = tool_job_run(&run, req, &result, err);
    }
    if (r == 0 && result) {
        said = tar_words_read(result->err.data, result->err.len);
        memcpy(source->note, said.note[0] ? said.note : said.fault, sizeof(said.note));
        note_left_out(&said, list, &source->left_out);
        r = tar_words_judge(&said, result, err) < 0 ? archive_refuse(err) : 0;
    }
    if (r == 0)
        r = check_part(&part, err) < 0 ? archive_refuse(err) : 0;
    result_free(result);
    request_free(req);
    return r;
}

int archive_import(const sbr_runtime *rt, const char *workspace, struct archive_source *source,
                   sbr_error *err)
{
    struct workspace_import import;
    struct collect_list list = { 0 };
    int r;

    if (workspace_import_begin(workspace, source->quota, &import, err) < 0)
        return err->code;
    source->quota = (struct workspace_quota){ .bytes = import.info.quota_bytes,
                                              .inodes = import.info.quota_inodes };
    r = archive_unpack(rt, import.tree_fd, source, &list, err);
    if (r == 0)
        r = workspace_import_end(&import, &list, err);
    collect_list_done(&list);
    workspace_import_done(&import);
    return r;
}

/* The names in the top directory, each with a NUL, for tar: names then do not begin with "./". */
static int list_top(int tree_fd, struct buf *ret, sbr_error *err)
{
    struct listing listing;
    int r = listing_read(tree_fd, &listing);

    if (r < 0)
        err_set_errno(err, "export", "cannot read the workspace");
    for (size_t i = 0; r == 0 && i < listing.n; i++)
        if (buf_add(ret, listing.names[i], strlen(listing.names[i]) + 1) < 0)
            r = err_set_oom(err, "export");
    listing_done(&listing);
    return r < 0 ? err->code : 0;
}

/* The tree; whatever is written to it is dropped.  Copy-on-write is also what shows root's trees
 * as the run's own.  Without namespaces the tree can only stand under its own name, read-only. */
static int show_tree(sbr_request *req, const char *tree, const char *target, sbr_error *err)
{
    bool own_name = !strcmp(tree, target);

    if (own_name && geteuid() == 0) /* tar is another user then */
        return err_set(err, SBR_E_UNSUPPORTED, "export",
                       "without namespaces root cannot give tar the workspace; call as an ordinary "
                       "user, or see `sandbox-run doctor`");
    return tool_job_add_volume(req, tree, target, own_name ? VOLUME_RO : VOLUME_COW, err);
}

/* What is packed: the tree, and the names in its top directory. */
struct content {
    const char *tree;
    struct buf names;
    const struct archive_tree *plain; /* NULL: a workspace */
};

/* The options that make the archive of a plain tree depend on nothing but its content. */
static int add_plain(sbr_request *req, const struct archive_tree *plain, const char *target,
                     sbr_error *err)
{
    char time[48];

    snprintf(time, sizeof(time), "--mtime=@%lld", (long long)plain->newest);
    if (request_add_arg(req, "--mode=u=rwX,go=rX,a-s,o-t", err) < 0 ||
        request_add_arg(req, "--clamp-mtime", err) < 0 || request_add_arg(req, time, err) < 0)
        return err->code;
    return tool_job_add_volume(req, plain->path, target, VOLUME_RO, err);
}

static int pack_request(const struct content *content, const struct archive_target *to,
                        const char *target, sbr_request **ret, sbr_error *err)
{
    /* By default extension headers have a process id in their names, and times of access. */
    static const char *const words[] = {
        "tar",
        "--create",
        "--file=-",
        "--format=pax",
        "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--hard-dereference",
        "--null",
        "--verbatim-files-from",
        NULL
    };
    static const char *const of_workspace[] = { "--sparse", "--sparse-version=0.0",
                                                "--mode=ug-s,o-t", NULL };
    const struct packer *packer = packer_of_name(to->name);
    char directory[STATE_PATH_SIZE + 16];

    snprintf(directory, sizeof(directory), "--directory=%s", target);
    if (tool_job_request(words, ret, err) < 0 || request_add_arg(*ret, directory, err) < 0 ||
        request_add_arg(*ret, "--files-from=-", err) < 0 ||
        (packer && request_add_arg(*ret, packer->option, err) < 0) || !*ret)
        return err->code;
    (*ret)->limits.value[SBR_OUTPUT_BYTES] = LIMIT_NONE; /* the archive itself */
    if (content->plain)
        return add_plain(*ret, content->plain, target, err);
    for (size_t i = 0; of_workspace[i]; i++)
        if (request_add_arg(*ret, of_workspace[i], err) < 0)
            return err->code;
    return show_tree(*ret, content->tree, target, err);
}

static int judge_export(const sbr_result *result, const struct forward *out, sbr_error *err)
{
    struct tar_words said = tar_words_read(result->err.tail, result->err.tail_len);

    errno = out->sys_errno;
    if (errno)
        return err_set_errno(err, "export", "cannot write the archive");
    if (out->fd < 0 && !result_success(result))
        return err_set(err, SBR_E_INVALID, "export",
                       "the archive is not whole: its reader went away");
    return tar_words_judge(&said, result, err);
}

static int pack(const sbr_runtime *rt, const struct content *content, const char *target,
                const struct archive_target *to, sbr_error *err)
{
    struct forward out;
    struct tool_job run = { .rt = rt,
                            .options = { .forward_out = &out,
                                         .stdin_data = content->names.data,
                                         .stdin_len = content->names.len,
                                         .stdin_fd = -1 } };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = pack_request(content, to, target, &req, err);

    forward_init(&out, to->fd);
    if (r == 0)
        r = tool_job_run(&run, req, &result, err);
    if (r == 0 && result)
        r = judge_export(result, &out, err);
    forward_done(&out);
    result_free(result);
    request_free(req);
    return r;
}

int archive_pack(const sbr_runtime *rt, const struct archive_tree *tree,
                 const struct archive_target *to, sbr_error *err)
{
    struct content content = { .tree = tree->path, .plain = tree };
    int r;

    if (check_packer(packer_of_name(to->name), "export", err) < 0)
        return err->code;
    buf_init(&content.names, SIZE_MAX / 2);
    r = list_top(tree->fd, &content.names, err);
    if (r == 0)
        r = pack(rt, &content, INSIDE_TREE, to, err);
    buf_done(&content.names);
    return r;
}

int archive_export(const sbr_runtime *rt, const char *workspace, const struct archive_target *to,
                   sbr_error *err)
{
    struct workspace_export opened;
    struct content content = { 0 };
    bool tries = rt->features.user_namespaces;
    int r;

    if (check_packer(packer_of_name(to->name), "export", err) < 0 ||
        workspace_export_begin(workspace, &opened, err) < 0)
        return err->code;
    content.tree = opened.workspace.tree;
    buf_init(&content.names, SIZE_MAX / 2);
    r = list_top(opened.workspace.tree_fd, &content.names, err);
    if (r == 0)
        r = pack(rt, &content, tries ? INSIDE_TREE : content.tree, to, err);
    /* Some hosts refuse namespaces only when they are tried.  Nothing was written then. */
    if (r < 0 && tries && err_retry(err) == ERR_UNDER_OWN_NAMES)
        r = pack(rt, &content, content.tree, to, err);
    buf_done(&content.names);
    workspace_export_done(&opened);
    return r;
}
