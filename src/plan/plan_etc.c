/* What is shown of the host's /etc, and why: without these, programs of /usr do not work, or work
 * otherwise than outside.  What says who or where the host is stays out: accounts, names, keys, and
 * the time zone too, because output must not depend on it (TZ=Europe/Berlin works, its data is in
 * /usr).  Languages name what only they need (`needs` of languages/NAME.yaml); certificates come
 * with a network (plan_network.c). */
#include "plan/plan_root.h"

/* How its inodes are kept from the program: a copy of a small file that every program opens, a view
 * of a directory, or nothing for one that has only links. */
enum shown_how { COPIED, VIEWED, LINKS };

/* clang-format off */
static const struct shown {
    const char *path;
    enum shown_how how;
} shown[] = {
    /* The loader finds libraries outside its default directories by this file. */
    { "/etc/ld.so.cache",   COPIED },
    /* Debian's links from /usr/bin to the selected awk, cc, java etc. lead through here. */
    { "/etc/alternatives",  LINKS  },
    /* The distribution's matplotlib cannot be imported without its settings. */
    { "/etc/matplotlibrc",  COPIED },
    /* Fontconfig finds no font without its settings, and whatever draws text asks it: R, Java,
     * Graphviz, Pango. */
    { "/etc/fonts",         VIEWED },
    /* ImageMagick has its formats, its programs and its limits here. */
    { "/etc/ImageMagick-6", VIEWED },
    { "/etc/ImageMagick-7", VIEWED },
    /* /usr/share/locale/locale.alias leads here: `german` and the like as names of locales. */
    { "/etc/locale.alias",  COPIED },
    /* R and Ghostscript draw on this paper. */
    { "/etc/papersize",     COPIED },
};
/* clang-format on */

int plan_etc(struct plan *plan, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
        bool copied = shown[i].how == COPIED, viewed = shown[i].how == VIEWED;
        struct plan_op op = { .kind = copied ? OP_COPY : OP_BIND,
                              .from = shown[i].path,
                              .to = shown[i].path + 1,
                              .mode = copied ? 0444 : 0,
                              .flags = OP_OPTIONAL | (viewed ? OP_VIEW : 0) };

        if (plan_add_op(plan, op, err) < 0)
            return err->code;
    }
    return 0;
}

size_t plan_etc_rules(struct plan_rule *rules)
{
    for (size_t i = 0; rules && i < ARRAY_LEN(shown); i++)
        rules[i] = (struct plan_rule){ shown[i].path, ACCESS_READ, true, { 0 } };
    return ARRAY_LEN(shown);
}
