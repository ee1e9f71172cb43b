#include "plan/policy_file.h"

/* The context of one file, whose rules replace those of an earlier one. */
struct writer {
    struct rules *rules;
    const struct arch *arch;
    const char *policy;
};

static void say(const struct writer *w, const char *call, const char *about)
{
    int number = call_number(w->arch, call);

    if (number >= 0 && number < CALLS_MAX)
        w->rules->calls[number] =
            (struct rules_entry){ about ? call : NULL, about, about ? w->policy : NULL };
}

static void say_groups(const struct writer *w, const struct call_group *groups, unsigned n,
                       bool allowed)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < groups[i].calls_count; j++)
            say(w, groups[i].calls[j], allowed ? NULL : groups[i].group);
    }
}

static void say_file(const struct writer *w, const struct policy_calls *calls)
{
    say_groups(w, calls->allow, calls->allow_count, true);
    say_groups(w, calls->notice, calls->notice_count, false);
    say_groups(w, calls->refuse, calls->refuse_count, false);
    for (unsigned i = 0; i < calls->arguments_count; i++) {
        const struct call_rules *rules = &calls->arguments[i];

        say(w, rules->call, rules->about ? rules->about : rules->call);
    }
}

void policy_rules_find(struct rules *ret, const struct arch *arch, const struct policy_file *base,
                       const struct policy_file *file)
{
    *ret = (struct rules){ .len = 0 };
    if (base)
        say_file(&(struct writer){ ret, arch, base->name }, &base->syscalls);
    say_file(&(struct writer){ ret, arch, file->name }, &file->syscalls);
    for (size_t number = 0; number < CALLS_MAX; number++)
        ret->len += ret->calls[number].call != NULL;
}
