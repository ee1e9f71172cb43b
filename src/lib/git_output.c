#include "lib/git_repo.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define DIGITS "0123456789abcdef"
#define MOST_HEAD 200 /* of a content: its name, its kind, its size */

const char *git_output_name(struct git_output *output)
{
    const char *name = output->data + output->at;

    if (output->at >= output->len || !memchr(name, '\0', output->len - output->at))
        return NULL;
    output->at += strlen(name) + 1;
    return name;
}

/* ":100644 100755 OBJECT OBJECT STATUS", then the path. */
bool git_output_change(struct git_output *output, struct git_change *ret)
{
    const size_t modes = strlen(":100644 100644 ");
    const char *line = git_output_name(output);
    const char *path = line ? git_output_name(output) : NULL;
    size_t digits;

    if (!path || line[0] != ':' || strnlen(line, modes) < modes)
        return false;
    digits = strspn(line + modes, DIGITS);
    if ((digits != 40 && digits != 64) || line[modes + digits] != ' ')
        return false;
    *ret = (struct git_change){ .path = path,
                                .object = line + modes,
                                .object_len = digits,
                                .is_file = !strncmp(line + 1, "100", 3),
                                .executable = !strncmp(line + 1, "100755", 6),
                                .only_working = !strncmp(line + 1, "000000", 6) };
    return true;
}

/* "OBJECT blob SIZE", a new line, the content, and another new line. */
bool git_output_blob(struct git_output *output, const char **ret, size_t *ret_len)
{
    const char *head = output->data + output->at, *end, *size;
    size_t left = output->len - output->at;
    char number[24];
    uint64_t len;

    end = output->at < output->len ? memchr(head, '\n', left < MOST_HEAD ? left : MOST_HEAD) : NULL;
    size = end ? memmem(head, (size_t)(end - head), " blob ", strlen(" blob ")) : NULL;
    if (!size)
        return false;
    size += strlen(" blob ");
    if ((size_t)(end - size) >= sizeof(number))
        return false;
    memcpy(number, size, (size_t)(end - size));
    number[end - size] = '\0';
    left -= (size_t)(end + 1 - head);
    if (text_parse_count(number, &len) != TEXT_OK || len >= left || end[1 + len] != '\n')
        return false;
    *ret = end + 1;
    *ret_len = len;
    output->at += (size_t)(end + 1 - head) + len + 1;
    return true;
}
