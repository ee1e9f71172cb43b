#include "cli/measured.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/present.h"
#include "cli/settings.h"
#include "cli/source.h"

int measured_open(const struct options *o, char **word, struct measured *ret, sbr_error *err)
{
    struct source source;

    *ret = (struct measured){ .o = *o };
    ret->o.request = NULL;
    if (request_new(NULL, NULL, &ret->o.request, err) < 0)
        return err->code;
    ret->o.request->has_options = true;
    ret->o.positional = word;
    ret->o.n_positional = word ? 1 : 0;
    if (request_override(ret->o.request, o->request, err) < 0 ||
        source_load(&ret->o, &source, err) < 0 || settings_apply(&ret->o, err) < 0)
        return err->code;
    snprintf(ret->title, sizeof(ret->title), "%s", source.title);
    return 0;
}

void measured_done(struct measured *m)
{
    request_free(m->o.request);
}

void measured_show_failure(void *context, const sbr_result *result)
{
    present_stages(result, 0, context);
}

int measured_count(const char *option, const char *text, unsigned int otherwise, unsigned int *ret,
                   sbr_error *err)
{
    uint64_t n = otherwise;

    if (text &&
        (text_parse_count(text, &n) != TEXT_OK || n > MEASURE_MOST_RUNS || (!n && otherwise > 1)))
        return err_set(err, SBR_E_INVALID, "options",
                       "--%s '%.40s' is no number of runs; give one up to %d", option, text,
                       MEASURE_MOST_RUNS);
    *ret = (unsigned int)n;
    return 0;
}

void measured_time(uint64_t us, char *buf, size_t size)
{
    if (us < 10000000)
        snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " ms", us / 1000, us / 100 % 10);
    else
        snprintf(buf, size, "%" PRIu64 ".%02" PRIu64 " s", us / 1000000, us / 10000 % 100);
}

void measured_size(uint64_t bytes, char *buf, size_t size)
{
    snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " MiB", bytes >> 20,
             (bytes >> 10) % 1024 * 10 / 1024);
}
