/* The user that an image names: the one user of the sandbox gets his name, numbers and home. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "image/image.h"
#include "plan/planner.h"

#define TABLE_MAX (4u << 20) /* of /etc/passwd and /etc/group */
#define FIELDS 7
#define ID_MAX 0xfffffffeu /* the highest number means "no change" to the kernel */

/* A line of /etc/passwd or /etc/group, cut at its colons; fields that it lacks are empty. */
struct account {
    char *field[FIELDS];
};

enum account_field { ACCOUNT_NAME = 0, ACCOUNT_ID = 2, ACCOUNT_GROUP = 3, ACCOUNT_HOME = 5 };

static void cut(char *line, struct account *ret)
{
    for (size_t i = 0; i < FIELDS; i++) {
        ret->field[i] = line;
        line += strcspn(line, ":");
        if (*line)
            *line++ = '\0';
    }
}

static bool is_number(const char *text, uint32_t *ret)
{
    uint64_t value;

    if (!isdigit((unsigned char)text[0]) || text_parse_count(text, &value) != 0 || value > ID_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* Finds the line by its name, or by its number where the text is one.  `table` is cut up. */
static bool find_account(char *table, const char *text, struct account *ret)
{
    uint32_t wanted, id;
    bool numeric = is_number(text, &wanted);

    for (char *next, *line = table; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        cut(line, ret);
        if (numeric ? is_number(ret->field[ACCOUNT_ID], &id) && id == wanted
                    : !strcmp(ret->field[ACCOUNT_NAME], text))
            return true;
    }
    return false;
}

static char *read_table(const struct image *image, const char *path)
{
    scoped_fd int fd = tool_root_open(&image->root, path, O_NONBLOCK);
    char *text = NULL;
    size_t len = 0;
    sbr_error ignored = { 0 };

    if (fd < 0 || fd_read_text(fd, TABLE_MAX, &text, &len, &ignored) < 0)
        return NULL;
    return text;
}

/* Names go into the environment, where any byte is possible and few make sense. */
static void take_name(const char *name, struct plan_image_user *ret)
{
    size_t len = strlen(name);

    if (!len || len >= sizeof(ret->name) || isdigit((unsigned char)name[0]))
        return;
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
            return;
    memcpy(ret->name, name, len + 1);
}

static void take_home(const struct image *image, const char *home, struct plan_image_user *ret)
{
    struct stat st;

    if (home[0] == '/' && strlen(home) < sizeof(ret->home) &&
        tool_root_stat(&image->root, home, &st) && S_ISDIR(st.st_mode))
        snprintf(ret->home, sizeof(ret->home), "%s", home);
}

/* False: neither a number nor a name of the table. */
static bool take_account(const struct image *image, const char *text, struct plan_image_user *ret)
{
    scoped_free char *table = read_table(image, "/etc/passwd");
    struct account found;
    bool known;

    if (table && find_account(table, text, &found)) {
        take_name(found.field[ACCOUNT_NAME], ret);
        take_home(image, found.field[ACCOUNT_HOME], ret);
        if (is_number(found.field[ACCOUNT_ID], &ret->uid) &&
            is_number(found.field[ACCOUNT_GROUP], &ret->gid))
            return true;
    }
    take_name(text, ret);
    ret->uid = INSIDE_UID;
    known = is_number(text, &ret->uid);
    ret->gid = ret->uid;
    return known;
}

static bool take_group(const struct image *image, const char *text, struct plan_image_user *ret)
{
    scoped_free char *table = NULL;
    struct account found;

    if (is_number(text, &ret->gid))
        return true;
    table = read_table(image, "/etc/group");
    return table && find_account(table, text, &found) &&
           is_number(found.field[ACCOUNT_ID], &ret->gid);
}

bool image_user_look_up(const struct image *image, const char *user, struct plan_image_user *ret)
{
    scoped_free char *text = text_format("%s", user);
    char *group = text ? strchr(text, ':') : NULL;
    bool known;

    *ret = (struct plan_image_user){ 0 };
    if (!text || !*text)
        return false;
    if (group)
        *group++ = '\0';
    if (!strcmp(text, "root")) /* also where no table says so */
        return true;
    known = take_account(image, text, ret);
    return group && *group ? take_group(image, group, ret) && known : known;
}

bool image_user_find(const struct image *image, struct plan_image_user *ret)
{
    *ret = (struct plan_image_user){ 0 };
    if (image->user) /* one that no table knows gets the number of every program */
        (void)image_user_look_up(image, image->user, ret);
    if (ret->gid == 0) /* no sandbox has the group of root either */
        ret->gid = ret->uid;
    return ret->uid != 0;
}
