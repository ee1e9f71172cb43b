#include "lib/image_pull.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/walk.h"
#include "lib/tool_job.h"

#define INSIDE "/layer"
#define LEAST_ROOM ((uint64_t)256 << 20)
#define GROWTH 40 /* of an image that is unpacked, at most */
#define MOST_FILES 1000000
#define FILE_ROOM 4096 /* what a file or a directory takes of the disk, though it is empty */
#define MEMORY ((uint64_t)512 << 20) /* of the programs; files are on the disk */
#define MAX_DEPTH 200
#define MAX_PATH 4096

/* The archive is read once: tar and the digest take it side by side.  A sandbox bounds neither
 * bytes nor files on the host's disk, so the second `head` cuts a bomb, of which the last line then
 * tells one byte more, and tar cannot print one more name than the first one reads.  Zeros end an
 * archive that ends right after its last byte of content, as some layers do. */
static const char script[] =
    "mkfifo /tmp/archive && cd " INSIDE " || exit 125\n"
    "{ cat /tmp/archive; head -c 10240 /dev/zero; } |\n"
    "{ tar --extract --verbose --file=- --no-same-permissions --delay-directory-restore\n"
    "  echo $? > /tmp/status; cat > /dev/null; } | head -n %llu > /dev/null &\n"
    "%s | { head -c %llu | tee -p /tmp/archive | sha256sum; head -c 1 | wc -c; }\n"
    "wait; exit \"$(cat /tmp/status)\"\n";

static uint64_t whole_of(const struct image_room *room)
{
    uint64_t bytes = room->packed > UINT64_MAX / GROWTH ? UINT64_MAX : room->packed * GROWTH;

    return room->max_size ? room->max_size : bytes < LEAST_ROOM ? LEAST_ROOM : bytes;
}

struct workspace_quota image_unpack_room(const struct image_room *room)
{
    uint64_t whole = whole_of(room);
    uint64_t files = whole / FILE_ROOM < MOST_FILES ? whole / FILE_ROOM : MOST_FILES;

    return (struct workspace_quota){
        .bytes = whole - (room->used < whole ? room->used : whole),
        .inodes = files - (room->used_files < files ? room->used_files : files),
    };
}

static int make_request(const struct image_unpack *unpack, sbr_request **ret, sbr_error *err)
{
    struct workspace_quota room = image_unpack_room(unpack->room);
    const char *words[] = { "sh", "-c", NULL, NULL };
    scoped_free char *line = NULL;
    char unpacker[32];
    struct limits *limits;

    if (archive_unpacker(unpack->fd, unpacker, err) < 0)
        return err->code;
    words[2] = line = text_format(script, (unsigned long long)room.inodes, unpacker,
                                  (unsigned long long)room.bytes);
    if (!line)
        return err_set_oom(err, "image");
    if (tool_job_request(words, ret, err) < 0)
        return err->code;
    limits = &(*ret)->limits;
    limits->value[SBR_DISK_BYTES] = room.bytes; /* of each file */
    limits->value[SBR_MEMORY_BYTES] = MEMORY;
    limits->value[SBR_CPU_MS] = 20000 + (room.bytes >> 24) * 1000 + room.inodes / 10;
    return tool_job_add_volume(*ret, unpack->dir, INSIDE, VOLUME_RW, err);
}

static int refuse_bomb(const struct image_room *room, bool files, sbr_error *err)
{
    char whole[32];

    text_format_size(whole_of(room), whole, sizeof(whole));
    return err_set(
        err, SBR_E_INVALID, "image",
        "the image unpacks to more %s the %s that it may have for its packed size; "
        "nothing of the image is taken; if you trust it, `sandbox-run image pull --max-size "
        "SIZE` gives it more",
        files ? "files than fit into" : "bytes than", whole);
}

/* A line for the digest, and one for what was beyond the bound. */
static int check_digest(const sbr_result *result, const struct image_unpack *unpack, sbr_error *err)
{
    const char *out = result->out.data;
    size_t len = result->out.len;
    const char *beyond = len ? memchr(out, '\n', len) : NULL;

    if (beyond && beyond + 1 < out + len && beyond[1] == '1')
        return refuse_bomb(unpack->room, false, err);
    if (len < SHA256_HEX_SIZE - 1 || memcmp(out, unpack->diff_id, SHA256_HEX_SIZE - 1) != 0)
        return err_set(err, SBR_E_INVALID, "image",
                       "a layer holds another archive than its diff id %.12s… says; nothing of the "
                       "image is taken",
                       unpack->diff_id);
    return result->exit_code == 128 + SIGPIPE ? refuse_bomb(unpack->room, true, err) : 0;
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

static int count(void *context, const struct walk_entry *entry, sbr_error *err)
{
    struct image_room *room = context;

    (void)err;
    room->used += (uint64_t)entry->st.st_blocks * 512;
    room->used_files++;
    return 0;
}

int image_unpack_count(int tree_fd, struct image_room *room, sbr_error *err)
{
    const struct walk walk = { .visit = count,
                               .context = room,
                               .stage = "image",
                               .max_depth = MAX_DEPTH,
                               .max_path = MAX_PATH };

    if (walk_tree(tree_fd, &walk, err) < 0)
        return err->code;
    return room->used > whole_of(room) ? refuse_bomb(room, false, err) : 0;
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
        r = check_digest(result, unpack, err);
    if (r == 0)
        r = archive_judge(result, err);
    if (r == 0)
        r = settle_all(unpack->dir_fd, err);
    result_free(result);
    request_free(req);
    return r;
}
