/* A program in a harness: --template and --set. */
#include <string.h>
#include <unistd.h>

#include "cli/source.h"
#include "plan/language.h"
#include "plan/template.h"

/* False for one that ships with the language. */
static bool is_file(const struct options *o)
{
    const struct language *language =
        o->request->language ? language_find(o->request->language) : NULL;

    return strchr(o->template, '/') || access(o->template, F_OK) == 0 ||
           (language && !template_find(language->name, o->template));
}

int source_put_in_template(struct options *o, sbr_error *err)
{
    struct template_use use = { .name = o->template,
                                .values = o->sets.items,
                                .n_values = o->sets.n };
    scoped_free char *text = NULL;

    if (!o->template && o->sets.n)
        return err_set(err, SBR_E_INVALID, "template", "--set needs a --template to set it in");
    if (!o->template)
        return 0;
    if (is_file(o) && source_read_path(o->template, &text, &use.len, err) < 0)
        return err->code;
    use.text = text;
    return template_program(o->request, &use, err);
}
