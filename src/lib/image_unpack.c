#include "lib/image_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scope.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/walk.h"
#include "lib/archive.h"
#include "lib/tool_job.h"

#define INSIDE "/layer"
#define LEAST_ROOM ((uint64_t)256 << 20)
#define GROWTH 40 /* of a layer that is unpacked, at most; more is a bomb */
#define MOST_FILES 1000000
#define MEMORY ((uint64_t)512 << 20) /* of the programs; files are on the disk */
#define MAX_DEPTH 200
#define MAX_PATH 4096

/* The archive is read once: tar and the digest take it side by side.  A sandbox bounds neither
 * bytes nor files on the host's disk, so the first `head` cuts a bomb, which then has another
 * digest, and tar cannot print one more name than the second one reads.  Zeros end an archive that
 * ends right after its last byte of content, as some layers do. */
static const char script[] =
    "mkfifo /tmp/archive && cd " INSIDE " || exit 125\n"
    "{ cat /tmp/archive; head -c 10240 /dev/zero; } |\n"
    "{ tar --extract --verbose --file=- --no-same-permissions --delay-directory-restore\n"
    "  echo $? > /tmp/status; cat > /dev/null; } | head -n %d > /dev/null &\n"
    "%s | head -c %llu | tee -p /tmp/archive | sha256sum\n"
    "wait; exit \"$(cat /tmp/status)\"\n";

static uint64_t most_bytes(uint64_t size)
{
    return size * GROWTH < LEAST_ROOM ? LEAST_ROOM : size * GROWTH;
}

static int make_request(const struct image_unpack *unpack, sbr_request **ret, sbr_error *err)
{
    uint64_t bytes = most_bytes(unpack->size);
    const char *words[] = { "sh", "-c", NULL, NULL };
    scoped_free char *line = NULL;
    char unpacker[32];
    struct limits *limits;

    if (archive_unpacker(unpack->fd, unpacker, err) < 0)
        return err->code;
    words[2] = line = text_format(script, MOST_FILES, unpacker, (unsigned long long)bytes);
    if (!line)
        return err_set_oom(err, "image");
    if (tool_job_request(words, ret, err) < 0)
        return err->code;
    limits = &(*ret)->limits;
    limits->value[SBR_DISK_BYTES] = bytes; /* of each file */
    limits->value[SBR_MEMORY_BYTES] = MEMORY;
    limits->value[SBR_CPU_MS] = 20000 + (bytes >> 24) * 1000 + MOST_FILES / 10;
    return tool_job_add_volume(*ret, unpack->dir, INSIDE, VOLUME_RW, err);
}

static int check_digest(const sbr_result *result, const char *diff_id, sbr_error *err)
{
    if (result->out.len >= SHA256_HEX_SIZE - 1 &&
        !memcmp(result->out.data, diff_id, SHA256_HEX_SIZE - 1))
        return 0;
    return err_set(err, SBR_E_INVALID, "image",
                   "a layer holds another archive than its diff id %.12s… says; nothing of the "
                   "image is taken",
                   diff_id);
}

/* No process but ours can reach the tree by now.  What is no file, directory or link is left out:
 * nothing in a sandbox can use it. */
static int settle(void *context, const struct walk_entry *entry, sbr_error *err)
{
    mode_t mode = entry->st.st_mode, wanted = mode & 0111 ? 0755 : 0644;
    int r = 0;

    (void)context;
    if (S_ISDIR(mode))
        wanted = 0755;
    if (!S_ISDIR(mode) && !S_ISREG(mode) && !S_ISLNK(mode))
        r = unlinkat(entry->dir_fd, entry->name, 0);
    else if (!S_ISLNK(mode) && (mode & 07777) != wanted)
        r = fchmodat(entry->dir_fd, entry->name, wanted, 0);
    return r == 0 ? 0 : err_set_errno(err, "image", "cannot keep '%.150s' of a layer", entry->path);
}

static int settle_all(int dir_fd, sbr_error *err)
{
    const struct walk walk = {
        .visit = settle, .stage = "image", .max_depth = MAX_DEPTH, .max_path = MAX_PATH
    };

    if (fchmod(dir_fd, 0755) < 0)
        return err_set_errno(err, "image", "cannot keep a layer");
    return walk_tree(dir_fd, &walk, err) < 0 ? archive_refuse(err) : 0;
}

/* The sandbox reads the same open file. */
static void show_read(void *context)
{
    const struct image_unpack *unpack = context;
    off_t at = lseek(unpack->fd, 0, SEEK_CUR);

    unpack->show(unpack->context, at > 0 ? (uint64_t)at : 0, unpack->size);
}

int image_unpack(const struct image_unpack *unpack, sbr_error *err)
{
    struct tool_job tool = { .rt = unpack->rt,
                             .options = { .keep_output = true, .stdin_fd = unpack->fd },
                             .tick = unpack->show ? show_read : NULL,
                             .tick_context = (void *)unpack,
                             .writes_own = true };
    sbr_request *req = NULL;
    sbr_result *result = NULL;
    int r = make_request(unpack, &req, err);

    if (r == 0)
        r = tool_job_run(&tool, req, &result, err);
    if (r == 0)
        r = check_digest(result, unpack->diff_id, err);
    if (r == 0)
        r = archive_judge(result, err);
    if (r == 0)
        r = settle_all(unpack->dir_fd, err);
    result_free(result);
    request_free(req);
    return r;
}
