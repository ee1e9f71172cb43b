#include "plan/policy_file.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/network.h"

/* Enough for every existing call, so that the list of names need not grow. */
#define NAMES_MAX CALLS_MAX

struct check {
    const char *path;
    const char *names[NAMES_MAX]; /* every call that the file has named so far */
    size_t names_len;
    sbr_error *err;
};

uint64_t policy_condition_mask(const struct condition *c)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < c->mask_count; i++)
        mask |= (uint64_t)c->mask[i];
    if (c->mask_count == 0)
        mask = UINT64_MAX;
    return c->bits == 32 ? mask & UINT32_MAX : mask;
}

static int check_fault(const struct check *check, const char *word, const char *fault)
{
    return err_set(check->err, SBR_E_INVALID, "compile", "%s:%u: %s", check->path,
                   document_line_of(check->path, word), fault);
}

static int check_call(struct check *check, const char *name)
{
    char fault[200];

    if (call_number(calls_any_arch(), name) == CALL_UNKNOWN) {
        snprintf(fault, sizeof(fault),
                 "no architecture has a system call '%.64s'; correct the name", name);
        return check_fault(check, name, fault);
    }
    for (size_t i = 0; i < check->names_len; i++) {
        if (strcmp(check->names[i], name) != 0)
            continue;
        snprintf(fault, sizeof(fault), "'%.64s' is named twice; keep one of the two", name);
        return check_fault(check, name, fault);
    }
    if (check->names_len == NAMES_MAX)
        return check_fault(check, name, "more system calls than there are; remove some");
    check->names[check->names_len++] = name;
    return 0;
}

static int check_groups(struct check *check, const struct call_group *groups, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < groups[i].calls_count; j++) {
            int r = check_call(check, groups[i].calls[j]);

            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* A value outside the mask or the width would make a rule that looks correct and never applies. */
static int check_condition(struct check *check, const struct call_rules *call,
                           const struct condition *c)
{
    char fault[200];

    for (unsigned i = 0; i < c->is_count; i++) {
        if (((uint64_t)c->is[i] & ~policy_condition_mask(c)) == 0)
            continue;
        snprintf(fault, sizeof(fault),
                 "the rule of '%.64s' for argument %u can never see the value 0x%" PRIx64
                 " under its mask and width; correct one of them",
                 call->call, c->arg, (uint64_t)c->is[i]);
        return check_fault(check, call->call, fault);
    }
    return 0;
}

static int check_rules(struct check *check, const struct call_rules *call)
{
    int r = check_call(check, call->call);

    for (unsigned i = 0; r == 0 && i < call->rules_count; i++) {
        for (unsigned j = 0; r == 0 && j < call->rules[i].when_count; j++)
            r = check_condition(check, call, &call->rules[i].when[j]);
    }
    return r;
}

/* A name becomes part of C identifiers. */
static int check_names(const struct check *check, const struct policy_file *file)
{
    for (const char *c = file->name; *c; c++) {
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c))
            return check_fault(check, file->name,
                               "a policy's name has lower case letters and digits only");
    }
    if (!file->extends && file->syscalls.unknown == ANSWER_NONE)
        return check_fault(check, "syscalls",
                           "'unknown' is missing, and there is no 'extends' to take it from; add "
                           "one of them");
    if (file->syscalls.unknown == ANSWER_ALLOW && !file->internal)
        return check_fault(check, "unknown",
                           "only what is laid over another policy can let unknown calls pass; make "
                           "it 'internal' or name an errno");
    return 0;
}

static bool lets_through(const struct policy_calls *calls, const char *name)
{
    for (unsigned i = 0; i < calls->allow_count; i++) {
        for (unsigned j = 0; j < calls->allow[i].calls_count; j++) {
            if (strcmp(calls->allow[i].calls[j], name) == 0)
                return true;
        }
    }
    for (unsigned i = 0; i < calls->arguments_count; i++) {
        if (strcmp(calls->arguments[i].call, name) == 0)
            return true;
    }
    return false;
}

/* A mode alone opens nothing: the default policy has the supervisor refuse these calls. */
static int check_network_calls(const struct check *check, const struct policy_calls *calls)
{
    static const char *const needed[] = { "connect", "sendto", "sendmmsg" };
    char fault[200];

    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        if (lets_through(calls, needed[i]))
            continue;
        snprintf(
            fault, sizeof(fault),
            "a policy with a network has to allow '%s' itself; policies/network.yaml shows how",
            needed[i]);
        return check_fault(check, "network", fault);
    }
    return 0;
}

/* Parses the rules like those of a request, so that none proves wrong at run time. */
static int check_network(const struct check *check, const struct policy_file *file)
{
    const struct policy_network *network = &file->network;
    bool outside = network_goes_outside(network->mode);

    if (!outside && network->allow_hosts_count)
        return check_fault(check, "allow_hosts",
                           "hosts are listed, but the mode reaches none; make it allow or full");
    if (!outside && network->allow_dns)
        return check_fault(check, "allow_dns",
                           "names are looked up in the modes allow and full only; change the mode");
    for (unsigned i = 0; i < network->allow_hosts_count; i++) {
        struct host_rule rule;
        sbr_error reason;

        if (host_rule_parse(network->allow_hosts[i], &rule, &reason) < 0)
            return check_fault(check, network->allow_hosts[i], reason.message);
    }
    return network->mode == NETWORK_NONE ? 0 : check_network_calls(check, &file->syscalls);
}

int policy_file_load(const char *path, struct policy_file **ret, sbr_error *err)
{
    struct check check = { .path = path, .err = err };
    const struct policy_calls *calls;
    struct policy_file *file;
    void *data;
    int r = document_load(path, &policy_schema, &data, err);

    if (r < 0)
        return r;
    file = data;
    calls = &file->syscalls;
    r = check_names(&check, file);
    if (r == 0)
        r = check_network(&check, file);
    if (r == 0)
        r = check_groups(&check, calls->allow, calls->allow_count);
    if (r == 0)
        r = check_groups(&check, calls->notice, calls->notice_count);
    if (r == 0)
        r = check_groups(&check, calls->refuse, calls->refuse_count);
    for (unsigned i = 0; r == 0 && i < calls->arguments_count; i++)
        r = check_rules(&check, &calls->arguments[i]);
    if (r < 0) {
        policy_file_free(file);
        return r;
    }
    *ret = file;
    return 0;
}

void policy_file_free(struct policy_file *file)
{
    document_free(&policy_schema, file);
}
