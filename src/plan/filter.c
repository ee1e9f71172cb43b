#include "plan/filter.h"

#include <stddef.h>

/* Every number may start a range, and three more ranges are above all numbers. */
#define RANGES_MAX (CALLS_MAX + 3)

/* The answer for one number: its rules decide, or without rules the action. */
struct verdict {
    uint32_t action;
    const struct call_rules *rules;
};

/* Reaches from `first` to the next range. */
struct range {
    uint32_t first;
    struct verdict verdict;
};

struct filter {
    const struct arch *arch;
    struct verdict calls[CALLS_MAX];
    struct range ranges[RANGES_MAX];
    size_t ranges_len;
    struct {
        const struct call_rules *rules;
        bpf_label label;
    } leaves[CALLS_MAX];
    size_t leaves_len;
    struct bpf *program;
};

static uint32_t answer_action(int answer)
{
    if (answer == ANSWER_NOTIFY)
        return SECCOMP_RET_USER_NOTIF;
    if (answer == ANSWER_COUNT)
        return POLICY_COUNT;
    if (answer == ANSWER_DONE)
        return SECCOMP_RET_ERRNO;
    return answer == ANSWER_ALLOW ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)answer;
}

static void filter_say(struct filter *f, const char *call, struct verdict verdict)
{
    int number = call_number(f->arch, call);

    if (number >= 0 && number < CALLS_MAX) /* otherwise this architecture lacks it */
        f->calls[number] = verdict;
}

static void filter_say_all(struct filter *f, const struct call_group *groups, unsigned n,
                           uint32_t action)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < groups[i].calls_count; j++)
            filter_say(f, groups[i].calls[j], (struct verdict){ action, NULL });
    }
}

/* Overrides the answers of an earlier file. */
static void filter_apply(struct filter *f, const struct policy_calls *calls)
{
    filter_say_all(f, calls->allow, calls->allow_count, SECCOMP_RET_ALLOW);
    filter_say_all(f, calls->notice, calls->notice_count, SECCOMP_RET_USER_NOTIF);
    for (unsigned i = 0; i < calls->refuse_count; i++)
        filter_say_all(f, &calls->refuse[i], 1, answer_action(calls->refuse[i].answer));
    for (unsigned i = 0; i < calls->arguments_count; i++)
        filter_say(f, calls->arguments[i].call, (struct verdict){ 0, &calls->arguments[i] });
}

static bool verdict_equal(struct verdict a, struct verdict b)
{
    return a.rules == b.rules && a.action == b.action;
}

static void filter_add_range(struct filter *f, uint32_t first, struct verdict verdict)
{
    if (f->ranges_len > 0 && verdict_equal(f->ranges[f->ranges_len - 1].verdict, verdict))
        return;
    f->ranges[f->ranges_len++] = (struct range){ first, verdict };
}

static void filter_find_ranges(struct filter *f, struct verdict unknown)
{
    for (uint32_t number = 0; number < CALLS_MAX; number++)
        filter_add_range(f, number, f->calls[number]);
    filter_add_range(f, CALLS_MAX, unknown);
    if (f->arch->foreign_first != 0) {
        filter_add_range(f, f->arch->foreign_first,
                         (struct verdict){ SECCOMP_RET_KILL_PROCESS, NULL });
        /* -1 is not a call of any ABI: programs use it to get ENOSYS. */
        filter_add_range(f, UINT32_MAX, unknown);
    }
}

/* The low half of an argument: both architectures are little-endian. */
static uint32_t arg_offset(unsigned arg)
{
    return (uint32_t)(offsetof(struct seccomp_data, args) + 8 * arg);
}

static bpf_label emit_condition_32(struct bpf *p, const struct condition *c, bpf_label yes,
                                   bpf_label no)
{
    bpf_label next = no;

    for (unsigned i = c->is_count; i-- > 0;)
        next = bpf_branch(p, BPF_JEQ, (uint32_t)c->is[i], yes, next);
    return bpf_load(p, arg_offset(c->arg), (uint32_t)policy_condition_mask(c), next);
}

/* BPF compares 32 bits at a time: first the high half, then the low one. */
static bpf_label emit_condition_64(struct bpf *p, const struct condition *c, bpf_label yes,
                                   bpf_label no)
{
    const uint64_t mask = policy_condition_mask(c);
    bpf_label next = no;

    for (unsigned i = c->is_count; i-- > 0;) {
        const uint64_t value = (uint64_t)c->is[i];
        bpf_label low = bpf_branch(p, BPF_JEQ, (uint32_t)value, yes, next);

        low = bpf_load(p, arg_offset(c->arg), (uint32_t)mask, low);
        next = bpf_branch(p, BPF_JEQ, (uint32_t)(value >> 32), low, next);
        next = bpf_load(p, arg_offset(c->arg) + 4, (uint32_t)(mask >> 32), next);
    }
    return next;
}

static bpf_label emit_condition(struct bpf *p, const struct condition *c, bpf_label yes,
                                bpf_label no)
{
    return c->bits == 32 ? emit_condition_32(p, c, yes, no) : emit_condition_64(p, c, yes, no);
}

/* The program grows towards its start, so the last rule and the last condition come first. */
static bpf_label emit_rules(struct bpf *p, const struct call_rules *call)
{
    bpf_label next = bpf_answer(p, answer_action(call->otherwise));

    for (unsigned i = call->rules_count; i-- > 0;) {
        const struct rule *rule = &call->rules[i];
        bpf_label yes = bpf_answer(p, answer_action(rule->then));

        for (unsigned j = rule->when_count; j-- > 0;)
            yes = emit_condition(p, &rule->when[j], yes, next);
        next = yes;
    }
    return next;
}

static void filter_emit_leaves(struct filter *f)
{
    for (size_t i = 0; i < f->ranges_len; i++) {
        const struct call_rules *rules = f->ranges[i].verdict.rules;

        if (!rules)
            continue;
        f->leaves[f->leaves_len].rules = rules;
        f->leaves[f->leaves_len++].label = emit_rules(f->program, rules);
    }
}

static bpf_label filter_emit_verdict(struct filter *f, struct verdict verdict)
{
    size_t i = 0;

    if (!verdict.rules)
        return bpf_answer(f->program, verdict.action);
    while (f->leaves[i].rules != verdict.rules)
        i++;
    return f->leaves[i].label;
}

/* One number between ranges with equal answers: a single comparison suffices. */
static bool is_exception(const struct range *r, size_t n)
{
    return n == 3 && verdict_equal(r[0].verdict, r[2].verdict) && r[2].first - r[1].first == 1;
}

/* The number of comparisons that a tree needs, and where to split it.  A split near the middle
 * keeps the tree flat; trying its neighbours finds more exceptions and saves a sixth. */
static size_t tree_plan(const struct range *r, size_t n, size_t *ret_cut)
{
    size_t best = SIZE_MAX;

    if (n == 1)
        return 0;
    if (is_exception(r, n))
        return 1;
    for (size_t cut = n / 2 > 1 ? n / 2 - 1 : 1; cut <= n / 2 + 1 && cut < n; cut++) {
        size_t ignored;
        size_t size = 1 + tree_plan(r, cut, &ignored) + tree_plan(r + cut, n - cut, &ignored);

        if (size < best) {
            best = size;
            *ret_cut = cut;
        }
    }
    return best;
}

static bpf_label filter_emit_tree(struct filter *f, const struct range *r, size_t n)
{
    size_t cut = 1;
    bpf_label left, right;

    if (n == 1)
        return filter_emit_verdict(f, r[0].verdict);
    if (is_exception(r, n)) {
        right = filter_emit_verdict(f, r[1].verdict);
        left = filter_emit_verdict(f, r[0].verdict);
        return bpf_branch(f->program, BPF_JEQ, r[1].first, right, left);
    }
    tree_plan(r, n, &cut);
    right = filter_emit_tree(f, r + cut, n - cut);
    left = filter_emit_tree(f, r, cut);
    return bpf_branch(f->program, BPF_JGE, r[cut].first, right, left);
}

static void filter_emit(struct filter *f)
{
    struct bpf *p = f->program;
    bpf_label start, kill;

    filter_emit_leaves(f);
    start = filter_emit_tree(f, f->ranges, f->ranges_len);
    start = bpf_load(p, offsetof(struct seccomp_data, nr), UINT32_MAX, start);
    kill = bpf_answer(p, SECCOMP_RET_KILL_PROCESS);
    start = bpf_branch(p, BPF_JEQ, f->arch->audit, start, kill);
    bpf_load(p, offsetof(struct seccomp_data, arch), UINT32_MAX, start);
    bpf_finish(p);
}

int filter_build(const struct arch *arch, const struct policy_file *base,
                 const struct policy_file *file, struct bpf *ret_program, sbr_error *err)
{
    static struct filter f; /* static: a few hundred KiB, and filters are built one at a time */
    struct verdict unknown;
    int answer = file->syscalls.unknown;

    if (answer == ANSWER_NONE && base)
        answer = base->syscalls.unknown;
    unknown = (struct verdict){ answer_action(answer), NULL };
    f = (struct filter){ .arch = arch, .program = ret_program };
    bpf_init(ret_program);
    for (size_t number = 0; number < CALLS_MAX; number++)
        f.calls[number] = unknown;
    if (base)
        filter_apply(&f, &base->syscalls);
    filter_apply(&f, &file->syscalls);

    filter_find_ranges(&f, unknown);
    filter_emit(&f);
    if (ret_program->full)
        return err_set(err, SBR_E_INVALID, "compile",
                       "policy '%s' needs more than %d instructions; shorten its argument rules",
                       file->name, BPF_MAXINSNS);
    return 0;
}
