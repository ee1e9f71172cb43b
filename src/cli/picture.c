#include "cli/present.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/encoding.h"
#include "cli/terminal.h"
#include "lib/runner.h"
#include "model/request.h"
#include "sandboxrun.h"

#define INLINE_MAX ((size_t)8 << 20)
#define DRAWN_MAX ((size_t)16 << 20)
#define KITTY_PART 4096
#define TIMEOUT_MS 10000
#define FILE_NAME "picture.png"

static bool has(const char *variable, const char *part)
{
    const char *value = getenv(variable);

    return value && strstr(value, part);
}

/* clang-format off */
static const struct {
    const char *variable, *part;
    enum picture_way way;
} terminals[] = {
    { .variable = "KITTY_WINDOW_ID", "", PICTURE_KITTY },
    { .variable = "TERM", "kitty", PICTURE_KITTY },
    { .variable = "TERM", "ghostty", PICTURE_KITTY },
    { .variable = "TERM_PROGRAM", "iTerm.app", PICTURE_ITERM },
    { .variable = "TERM_PROGRAM", "WezTerm", PICTURE_ITERM },
    { .variable = "LC_TERMINAL", "iTerm2", PICTURE_ITERM },
    { .variable = "TERM", "sixel", PICTURE_SIXEL },
    { .variable = "TERM", "mlterm", PICTURE_SIXEL },
    { .variable = "TERM", "foot", PICTURE_SIXEL },
    { .variable = "TERM", "contour", PICTURE_SIXEL },
    { .variable = "TERM_PROGRAM", "mintty", PICTURE_SIXEL },
    { .variable = "COLORTERM", "truecolor", PICTURE_BLOCKS },
    { .variable = "TERM", "256color", PICTURE_BLOCKS },
};
/* clang-format on */

static const char *const names[] = { [PICTURE_FILE] = "file",
                                     [PICTURE_KITTY] = "kitty",
                                     [PICTURE_ITERM] = "iterm",
                                     [PICTURE_SIXEL] = "sixel",
                                     [PICTURE_BLOCKS] = "blocks" };

enum picture_way picture_way(bool color)
{
    const char *asked = getenv("SANDBOX_RUN_PICTURES");

    for (size_t i = 0; asked && i < ARRAY_LEN(names); i++)
        if (!strcmp(asked, names[i]))
            return (enum picture_way)i;
    for (size_t i = 0; i < ARRAY_LEN(terminals); i++)
        if (has(terminals[i].variable, terminals[i].part) &&
            (color || terminals[i].way != PICTURE_BLOCKS))
            return terminals[i].way;
    return PICTURE_FILE;
}

/* In parts, because a terminal may bound the length of a sequence. */
static void show_by_kitty(const char *base64)
{
    size_t len = strlen(base64);

    for (size_t at = 0; at < len; at += KITTY_PART) {
        size_t part = len - at < KITTY_PART ? len - at : KITTY_PART;

        printf("\033_G%sm=%d;%.*s\033\\", at ? "" : "a=T,f=100,", at + part < len, (int)part,
               base64 + at);
    }
    putchar('\n');
}

/* What reaches the terminal is only our own coding of the bytes. */
static bool show_coded(enum picture_way way, const char *bytes, size_t len)
{
    scoped_free char *base64 = encoding_to_base64(bytes, len);

    if (!base64)
        return false;
    if (way == PICTURE_KITTY)
        show_by_kitty(base64);
    else
        printf("\033]1337;File=inline=1;size=%zu:%s\a\n", len, base64);
    return true;
}

static void drawn(void *context, int stream, const char *data, size_t len)
{
    if (stream == SBR_STDOUT)
        (void)buf_add(context, data, len);
}

static int describe(enum picture_way way, const char *bytes, size_t len, sbr_request **ret,
                    sbr_error *err)
{
    struct winsize size = { 0 };
    char room[32];
    const char *words[] = { "chafa",
                            "--format",
                            way == PICTURE_SIXEL ? "sixels" : "symbols",
                            "--animate",
                            "off",
                            "--colors",
                            way == PICTURE_SIXEL || has("COLORTERM", "truecolor") ? "full" : "256",
                            "--size",
                            room,
                            FILE_NAME };

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
        size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
    snprintf(room, sizeof(room), "%ux%u", size.ws_col, size.ws_row > 4 ? size.ws_row - 2u : 2u);
    if (request_new(NULL, NULL, ret, err) < 0)
        return err->code;
    (*ret)->limits.value[SBR_WALL_MS] = TIMEOUT_MS;
    (*ret)->limits.given |= 1u << SBR_WALL_MS;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (request_add_arg(*ret, words[i], err) < 0)
            return err->code;
    return request_add_file(*ret, FILE_NAME, bytes, len, err);
}

/* False: there is no chafa, or it failed. */
static bool draw(enum picture_way way, const char *bytes, size_t len, struct buf *out)
{
    sbr_runtime *rt = NULL;
    sbr_request *req = NULL;
    sbr_job *job = NULL;
    sbr_result *result = NULL;
    sbr_error err = { 0 };
    bool good = false;

    if (describe(way, bytes, len, &req, &err) == 0 &&
        runner_open(RUNNER_ONCE, true, &rt, &err) == 0 && sbr_job_start(rt, req, &job, &err) == 0) {
        (void)sbr_job_on_output(job, drawn, out);
        (void)sbr_job_set_result_output(job, 0);
        good = sbr_job_finish(job, &result, &err) == 0 && result_success(result) && !out->failed &&
               out->len;
    }
    sbr_result_free(result);
    sbr_job_free(job);
    sbr_request_free(req);
    sbr_runtime_close(rt);
    return good;
}

/* ESC P parameters q, then only what sixels are made of, then ESC \.  A string that held a control
 * character could end early and go on as commands to the terminal. */
static bool is_sixel(const char *text, size_t len, size_t *ret_end)
{
    size_t at = 2;

    if (len < 5 || memcmp(text, "\033P", 2) != 0)
        return false;
    while (at < len && (text[at] == ';' || (text[at] >= '0' && text[at] <= '9')))
        at++;
    if (at >= len || text[at++] != 'q')
        return false;
    while (at < len && (text[at] == '\n' || (text[at] >= '!' && text[at] <= '~')))
        at++;
    *ret_end = at + 2;
    return at + 2 <= len && !memcmp(text + at, "\033\\", 2);
}

/* Around the sixels chafa hides the cursor and shows it again; only they are passed on. */
static bool show_sixel(const struct buf *out)
{
    const char *from = memmem(out->data, out->len, "\033P", 2);
    size_t end = 0;

    if (!from || !is_sixel(from, out->len - (size_t)(from - out->data), &end))
        return false;
    fwrite(from, 1, end, stdout);
    putchar('\n');
    return true;
}

static bool show_blocks(const struct buf *out)
{
    struct terminal_filter filter = { 0 };
    struct buf clean;

    buf_init(&clean, 2 * DRAWN_MAX);
    terminal_clean(&filter, out->data, out->len, &clean);
    fwrite(clean.data, 1, clean.len, stdout);
    fputs("\033[0m", stdout);
    buf_done(&clean);
    return true;
}

bool picture_show(enum picture_way way, const char *bytes, size_t len)
{
    static const char png[] = "\x89PNG\r\n\x1a\n";
    struct buf out;
    bool shown;

    if (way == PICTURE_FILE || len < sizeof(png) || len > INLINE_MAX ||
        memcmp(bytes, png, sizeof(png) - 1) != 0)
        return false;
    if (way == PICTURE_KITTY || way == PICTURE_ITERM)
        return show_coded(way, bytes, len);
    buf_init(&out, DRAWN_MAX);
    shown = draw(way, bytes, len, &out) &&
            (way == PICTURE_SIXEL ? show_sixel(&out) : show_blocks(&out));
    buf_done(&out);
    return shown;
}
