#include "lib/archive.h"

#include <string.h>

#include "base/text.h"
#include "model/result.h"

/* The next line of tar's messages without "tar: ", or false. */
static bool next_line(const char **at, const char *end, const char **ret, size_t *ret_len)
{
    static const char prefix[] = "tar: ";
    const char *line = *at, *newline;

    if (line >= end)
        return false;
    newline = memchr(line, '\n', (size_t)(end - line));
    *at = newline ? newline + 1 : end;
    *ret_len = (size_t)((newline ? newline : end) - line);
    if (*ret_len >= sizeof(prefix) - 1 && !memcmp(line, prefix, sizeof(prefix) - 1)) {
        line += sizeof(prefix) - 1;
        *ret_len -= sizeof(prefix) - 1;
    }
    *ret = line;
    return true;
}

static bool begins(const char *line, size_t len, const char *with)
{
    return len >= strlen(with) && !memcmp(line, with, strlen(with));
}

/* Without namespaces tar can change no mode, and no time but that of an open file.  The import
 * drops set-id bits anyway; directories and links get the time of the import. */
static bool is_small_loss(const char *line, size_t len)
{
    return text_ends(line, len, ": Operation not permitted") &&
           (memmem(line, len, ": Cannot utime: ", 16) ||
            memmem(line, len, ": Cannot change mode to ", 24));
}

/* A line may hold a name of any length; what tar says of it stands at the end. */
static void copy_line(char to[TAR_WORDS_SIZE], const char *line, size_t len)
{
    const size_t head = TAR_WORDS_SIZE / 4, tail = TAR_WORDS_SIZE / 2;

    if (len < TAR_WORDS_SIZE) {
        text_copy_visibly(to, TAR_WORDS_SIZE, line, len);
        return;
    }
    text_copy_visibly(to, head, line, len);
    text_copy_visibly(to + strlen(to), tail, line + len - tail / 2, tail / 2);
}

static void read_line(struct tar_words *said, const char *line, size_t len)
{
    const char *device = text_ends(line, len, ": Cannot mknod: Operation not permitted");
    bool small = is_small_loss(line, len);
    char *to = said->fault;

    said->failed += device || small;
    if (device) {
        if (said->devices++ == 0)
            text_copy_visibly(said->device, sizeof(said->device), line, (size_t)(device - line));
        return;
    }
    if (begins(line, len, "Exiting with failure status"))
        return;
    if (small || begins(line, len, "Removing leading") ||
        begins(line, len, "Ignoring unknown extended header"))
        to = said->note;
    if (!to[0])
        copy_line(to, line, len);
}

struct tar_words tar_words_read(const char *text, size_t text_len)
{
    const char *at = text, *line;
    struct tar_words said = { 0 };
    size_t len;

    while (next_line(&at, text + text_len, &line, &len))
        read_line(&said, line, len);
    return said;
}

int tar_words_judge(const struct tar_words *said, const sbr_result *result, sbr_error *err)
{
    if (result->verdict == SBR_EXITED && result->exit_code == 0)
        return 0;
    if (result->verdict == SBR_EXITED && said->failed && !said->fault[0] && !result->err.truncated)
        return 0;
    if (result->verdict != SBR_EXITED && result->explanation[0])
        return err_set(err, SBR_E_INVALID, "tar", "%.200s", result->explanation);
    return err_set(err, SBR_E_INVALID, "tar", "%s",
                   said->fault[0] ? said->fault : result_verdict_name(result->verdict));
}
