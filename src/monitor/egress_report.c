#include "monitor/monitor.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "sandbox/mount_below.h"

static const char *const way_names[N_EGRESS_WAYS] = {
    [WAY_TPROXY] = "egress-by-tproxy",
    [WAY_REDIRECT] = "egress-by-redirect",
    [WAY_PORTS] = "egress-by-ports",
};

/* What the program cannot reach because the kernel lacks a module. */
static const char *const way_missing[N_EGRESS_WAYS] = {
    [WAY_REDIRECT] = "UDP to ports that no rule names (the kernel lacks nft_tproxy)",
    [WAY_PORTS] = "ports that no rule names (the kernel lacks nft_tproxy and nft_redir)",
};

/* True when the person allowed later what was refused here: by the same rule, or for all ports. */
static bool has_rule(const struct string_list *granted, const char *rule)
{
    for (size_t i = 0; i < granted->n; i++) {
        size_t len = strlen(granted->items[i]);

        if (!strncmp(rule, granted->items[i], len) && (rule[len] == '\0' || rule[len] == ':'))
            return true;
    }
    return false;
}

static bool is_granted(const struct string_list *granted, const struct denial *one)
{
    static const char option[] = "--allow-host ";

    return !strncmp(one->remedy, option, strlen(option)) &&
           has_rule(granted, one->remedy + strlen(option));
}

bool egress_report_granted(const struct egress *egress, const char *rule)
{
    return has_rule(&egress->granted, rule);
}

/* The helper is ours, but its memory is shared: nothing in it is trusted.  A counter is read once:
 * it may change meanwhile. */
static uint32_t bounded(uint32_t n)
{
    return n < DENIALS_MAX ? n : DENIALS_MAX;
}

static uint32_t count_of(const struct egress_page *page)
{
    return bounded(page->n_denials);
}

static void add_denial(const struct denial *shared, uint64_t before,
                       const struct string_list *granted, struct denials *denials)
{
    struct denial one = *shared;

    one.target[sizeof(one.target) - 1] = '\0';
    one.rule[sizeof(one.rule) - 1] = '\0';
    one.remedy[sizeof(one.remedy) - 1] = '\0';
    if (one.kind >= N_DENIAL_KINDS || one.count <= before || is_granted(granted, &one))
        return;
    one.count -= before;
    denials_add(denials, &one);
}

static uint32_t read_denials(const struct egress_page *page, uint32_t from,
                             const struct string_list *granted, struct denials *denials)
{
    uint32_t n = count_of(page);

    for (uint32_t i = from; i < n; i++)
        add_denial(&page->denials[i], 0, granted, denials);
    return n;
}

uint32_t egress_report_refusals(const struct egress *egress, uint32_t from, struct denials *to)
{
    const struct string_list none = { 0 };

    return egress->page ? read_denials(egress->page, from, &none, to) : from;
}

uint32_t egress_report_asked(const struct egress *egress, uint32_t from, struct denials *to)
{
    const struct string_list none = { 0 };
    uint32_t n = egress->page ? bounded(egress->page->n_asked) : from;

    for (uint32_t i = from; i < n; i++)
        add_denial(&egress->page->asked[i], 0, &none, to);
    return n;
}

uint64_t egress_report_count(const struct egress *egress, uint64_t counts[DENIALS_MAX])
{
    const struct egress_page *page = egress->page;

    for (uint32_t i = 0, n = page ? count_of(page) : 0; i < n; i++)
        counts[i] = page->denials[i].count;
    return page ? page->denials_dropped : 0;
}

void egress_report_since(const struct egress *egress, const uint64_t counts[DENIALS_MAX],
                         struct denials *to)
{
    const struct egress_page *page = egress->page;

    for (uint32_t i = 0, n = page ? count_of(page) : 0; i < n; i++)
        add_denial(&page->denials[i], counts[i], &egress->granted, to);
}

void egress_report_read(const struct egress *egress, sbr_result *result)
{
    const struct egress_page *page = egress->page;
    uint32_t way;

    if (!page)
        return;
    result->usage.connections = page->connections;
    result->usage.network_in_bytes = page->bytes_in;
    result->usage.network_out_bytes = page->bytes_out;
    result->usage.network_cpu_us = page->cpu_us;
    (void)read_denials(page, 0, &egress->granted, &result->denials);
    result->denials.dropped += page->denials_dropped;
    log_info("egress", "%" PRIu64 " connections, %" PRIu64 " names looked up, %" PRIu64 " refusals",
             result->usage.connections, (uint64_t)page->names, (uint64_t)page->refused);
    way = page->way;
    if (!page->started || way >= N_EGRESS_WAYS)
        return;
    result_add_mechanism(&result->isolation, way_names[way]);
    if (way_missing[way])
        result_add_missing(&result->isolation, way_missing[way]);
}

uint64_t egress_report_cpu_us(const struct egress *egress)
{
    return egress->page ? egress->page->cpu_us : 0;
}

int egress_report_failure(const struct egress *egress, sbr_error *err)
{
    if (egress->page && egress->page->error.code) {
        page_error_read(&egress->page->error, err);
        return err->code;
    }
    return err_set(err, SBR_E_BUG, "egress", "the egress process ended before its work was done");
}
