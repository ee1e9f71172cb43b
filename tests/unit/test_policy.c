/* Runs the filters of every policy and architecture in a machine of our own, and compares them with
 * the model of policy_model.c and with filters that libseccomp makes from it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf_sim.h"
#include "policy_model.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NUMBERS 1024
#define ARGS 6
#define X32_BIT 0x40000000U
#define LIBRARY_KNOWS_BELOW 451 /* newer calls have no name in the libseccomp of Debian 12 */

extern const struct policy *const policy_table_x86_64[];
extern const struct policy *const policy_table_aarch64[];

static const struct policy *const *const tables[MODEL_ARCHS] = {
    [MODEL_X86_64] = policy_table_x86_64,
    [MODEL_AARCH64] = policy_table_aarch64,
};

/* What a test looks at: one policy on one architecture. */
struct subject {
    const struct policy *policy;
    const struct model_arch *arch;
};

typedef void subject_test(const struct subject *subject);

static void for_each_subject(subject_test *test)
{
    for (size_t a = 0; a < MODEL_ARCHS; a++) {
        for (const struct policy *const *p = tables[a]; *p; p++)
            test(&(struct subject){ *p, &model_archs[a] });
    }
}

static uint32_t run(const struct subject *s, uint32_t number, const uint64_t *args)
{
    struct seccomp_data data = { .nr = (int)number, .arch = s->arch->audit };

    if (args)
        memcpy(data.args, args, sizeof(data.args));
    return bpf_sim_run(s->policy->filter, &data, NULL);
}

static void assert_answer(const struct subject *s, uint32_t number, const uint64_t *args,
                          uint32_t expected)
{
    static const uint64_t none[6];
    uint32_t answer = run(s, number, args);
    char name[64] = "";

    if (answer == expected)
        return;
    args = args ? args : none;
    model_name(s->arch, (int)number, name, sizeof(name));
    fail_msg("%s on %s: call %u '%s' (%#llx, %#llx, %#llx) is answered %#x instead of %#x",
             s->policy->name, s->arch->name, number, name, (unsigned long long)args[0],
             (unsigned long long)args[1], (unsigned long long)args[2], answer, expected);
}

/* Values that some rule names, and their neighbours. */
static const uint64_t values[] = {
    0,          1,          2,          3,          4,          5,          6,          7,
    8,          9,          10,         11,         15,         16,         17,         28,
    35,         36,         37,         38,         39,         47,         53,         0x81,
    0x801,      0x80001,    0x80805,    1024,       1025,       1026,       0x2000,     010644,
    020644,     0100644,    0140644,    0x5411,     0x5412,     0x541c,     0x5423,     0x40086602,
    0x40046602, 0x401c5820, 0x40086601, 0x59616d61, 0x00020000, 0x02000000, 0x04000000, 0x08000000,
    0x10000000, 0x20000000, 0x40000000, 0x80000000, 0x003d0f00, 0x01200011, 0x200,      0x201,
    0x203,      0x5401,     0x540f,     0x5413,     0x541b,     0x5421,     0x5450,     0x5451,
    0x40049409, 0x4020940d, 0x80086601, 0xffffffff, 0100,       0101,       04755,      02755,
    06000,      0104755,    020000000,  020200001,  12,         13,         14,         20,
    22,         26,         31,         32,         41,         42,         46,         50,
    51,         57,         67,         270,        04000,      04001,      0x40000,    0x40022,
};

/* The same for calls of which three arguments matter, so that all combinations stay few. */
static const uint64_t few_values[] = {
    0,          1,  2,  3,   4,   5,      7,       8,       10,      15,         16,
    17,         28, 35, 47,  53,  0x801,  0x80001, 0x80803, 0x80805, 0x59616d61, 0x80000000,
    0xffffffff, 6,  9,  511, 512, 0x4000, 0x4001,  22,      67,
};

/* And of which four matter. */
static const uint64_t least_values[] = { 0, 1, 3, 4, 5, 7, 0x80000000 };

/* Upper halves that the kernel may or may not look at. */
static const uint64_t uppers[] = { 0, 1ULL << 32, 0xffffffff00000000ULL };

typedef void args_test(const struct subject *s, const struct model_call *call, const uint64_t *args,
                       void *context);

struct args_walk {
    const struct subject *subject;
    const struct model_call *call;
    args_test *test;
    void *context;
};

/* Upper halves for all arguments at once, then for one at a time. */
static void args_walk_uppers(const struct args_walk *walk, uint64_t *args)
{
    uint64_t lower[ARGS];

    memcpy(lower, args, sizeof(lower));
    for (size_t u = 0; u < COUNT(uppers); u++) {
        for (unsigned i = 0; i < ARGS; i++)
            args[i] = lower[i] | uppers[u];
        walk->test(walk->subject, walk->call, args, walk->context);
    }
    for (unsigned i = 0; i < ARGS; i++) {
        memcpy(args, lower, sizeof(lower));
        args[i] |= uppers[1];
        walk->test(walk->subject, walk->call, args, walk->context);
    }
    memcpy(args, lower, sizeof(lower));
}

/* Every combination of values in the arguments that matter; junk in the others. */
static void args_walk(const struct args_walk *walk, unsigned arg, uint64_t *args)
{
    const int dimensions = __builtin_popcount(walk->call->args);
    const uint64_t *pool = dimensions > 3 ? least_values : dimensions == 3 ? few_values : values;
    const size_t n = dimensions > 3    ? COUNT(least_values)
                     : dimensions == 3 ? COUNT(few_values)
                                       : COUNT(values);

    if (arg == ARGS) {
        args_walk_uppers(walk, args);
        return;
    }
    if ((walk->call->args & (1U << arg)) == 0) {
        args[arg] = arg < 3 ? 0x5a5a5a5a : UINT64_MAX;
        args_walk(walk, arg + 1, args);
        return;
    }
    for (size_t v = 0; v < n; v++) {
        args[arg] = pool[v];
        args_walk(walk, arg + 1, args);
    }
}

static void for_all_args(const struct subject *s, const struct model_call *call, args_test *test,
                         void *context)
{
    const struct args_walk walk = { s, call, test, context };
    uint64_t args[ARGS] = { 0 };

    args_walk(&walk, 0, args);
}

static void check_kernel_accepts(const struct subject *s)
{
    assert_true(bpf_sim_accepts(s->policy->filter));
}

static void the_kernel_would_accept_every_filter(void **state)
{
    (void)state;
    for_each_subject(check_kernel_accepts);
}

static void check_is_short(const struct subject *s)
{
    unsigned longest = 0;

    print_message("# %s on %s: %zu instructions\n", s->policy->name, s->arch->name,
                  s->policy->filter.len);
    assert_true(s->policy->filter.len <= 340);
    for (uint32_t number = 0; number < NUMBERS; number++) {
        struct seccomp_data data = { .nr = (int)number, .arch = s->arch->audit };
        unsigned steps = 0;

        bpf_sim_run(s->policy->filter, &data, &steps);
        longest = steps > longest ? steps : longest;
    }
    assert_true(longest <= 40);
}

static void a_filter_is_short_enough_to_install_for_every_run(void **state)
{
    (void)state;
    for_each_subject(check_is_short);
}

static void check_numbers(const struct subject *s)
{
    if (!model_has(s->policy->name))
        return;
    for (int number = 0; number < NUMBERS; number++) {
        char name[64];

        model_name(s->arch, number, name, sizeof(name));
        if (!model_find_call(s->policy->name, name))
            assert_answer(s, (uint32_t)number, NULL, model_answer(s->policy->name, name));
    }
    for (uint32_t number = NUMBERS; number < X32_BIT; number += 0x10001)
        assert_answer(s, number, NULL, model_unknown(s->policy->name));
    assert_answer(s, X32_BIT - 1, NULL, model_unknown(s->policy->name));
    assert_answer(s, UINT32_MAX, NULL, model_unknown(s->policy->name));
}

static void every_number_is_answered_as_the_contract_says(void **state)
{
    (void)state;
    for_each_subject(check_numbers);
}

static void check_other_abis(const struct subject *s)
{
    const uint32_t foreign = strcmp(s->arch->name, "x86_64") == 0 ? SECCOMP_RET_KILL_PROCESS
                                                                  : model_unknown(s->policy->name);

    for (uint32_t number = 0; number < NUMBERS; number++)
        assert_answer(s, X32_BIT | number, NULL, foreign);
    assert_answer(s, UINT32_MAX - 1, NULL, foreign);
}

static void numbers_of_the_x32_abi_end_the_process(void **state)
{
    (void)state;
    for_each_subject(check_other_abis);
}

static void check_foreign_archs(const struct subject *s)
{
    const uint32_t others[] = { 0,          0x40000003, 0x40000028, 0xc00000b7,
                                0xc000003e, 0xc00000f3, UINT32_MAX, s->arch->audit ^ 1 };

    for (size_t i = 0; i < COUNT(others); i++) {
        struct seccomp_data data = { .arch = others[i] };

        for (data.nr = 0; others[i] != s->arch->audit && data.nr < NUMBERS; data.nr++)
            assert_int_equal(bpf_sim_run(s->policy->filter, &data, NULL), SECCOMP_RET_KILL_PROCESS);
    }
}

static void calls_of_another_architecture_end_the_process(void **state)
{
    (void)state;
    for_each_subject(check_foreign_archs);
}

static void check_args(const struct subject *s, const struct model_call *call, const uint64_t *args,
                       void *context)
{
    uint32_t number = *(const uint32_t *)context;

    assert_answer(s, number, args, call->answer(args));
}

static void check_all_args(const struct subject *s)
{
    for (uint32_t number = 0; model_has(s->policy->name) && number < NUMBERS; number++) {
        const struct model_call *call;
        char name[64];

        model_name(s->arch, (int)number, name, sizeof(name));
        call = model_find_call(s->policy->name, name);
        if (call)
            for_all_args(s, call, check_args, &number);
    }
}

static void arguments_decide_as_the_kernel_would_read_them(void **state)
{
    (void)state;
    for_each_subject(check_all_args);
}

/* Filters of libseccomp. */

static scmp_filter_ctx library_new(const struct model_arch *arch, uint32_t default_action)
{
    scmp_filter_ctx ctx = seccomp_init(default_action);

    assert_non_null(ctx);
    assert_int_equal(seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
    if (arch->library != seccomp_arch_native()) {
        assert_int_equal(seccomp_arch_add(ctx, arch->library), 0);
        assert_int_equal(seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE), 0);
    }
    return ctx;
}

/* The instructions belong to the caller. */
static struct policy_filter library_export(scmp_filter_ctx ctx)
{
    struct policy_filter filter = { 0 };
    FILE *file = tmpfile();
    long size;
    void *insns;

    assert_non_null(file);
    assert_int_equal(seccomp_export_bpf(ctx, fileno(file)), 0);
    seccomp_release(ctx);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    rewind(file);
    insns = malloc((size_t)size);
    assert_non_null(insns);
    filter.insns = insns;
    filter.len =
        fread(insns, sizeof(filter.insns[0]), (size_t)size / sizeof(filter.insns[0]), file);
    fclose(file);
    assert_true(bpf_sim_accepts(filter));
    return filter;
}

/* libseccomp speaks in numbers of the machine it runs on, and translates them. */
static void library_add_calls(scmp_filter_ctx ctx, const struct subject *s)
{
    for (int number = 0; number < LIBRARY_KNOWS_BELOW; number++) {
        uint32_t answer;
        char name[64];

        model_name(s->arch, number, name, sizeof(name));
        answer = model_answer(s->policy->name, name);
        if (name[0] != '\0' && answer != model_unknown(s->policy->name) &&
            !model_find_call(s->policy->name, name))
            assert_int_equal(seccomp_rule_add(ctx, answer, seccomp_syscall_resolve_name(name), 0),
                             0);
    }
}

static void check_numbers_against_library(const struct subject *s)
{
    scmp_filter_ctx ctx;
    struct policy_filter filter;

    if (!model_has(s->policy->name))
        return;
    ctx = library_new(s->arch, model_unknown(s->policy->name));
    library_add_calls(ctx, s);
    filter = library_export(ctx);
    for (uint32_t i = 0; i < 4 * NUMBERS; i++) {
        const uint32_t bases[] = { 0, X32_BIT, 0x80000000U, UINT32_MAX - NUMBERS + 1 };
        struct seccomp_data data = { .arch = s->arch->audit };
        char name[64];

        data.nr = (int)(bases[i / NUMBERS] + i % NUMBERS);
        model_name(s->arch, data.nr, name, sizeof(name));
        if (!model_find_call(s->policy->name, name) &&
            (data.nr < LIBRARY_KNOWS_BELOW || data.nr >= NUMBERS))
            assert_answer(s, (uint32_t)data.nr, NULL, bpf_sim_run(filter, &data, NULL));
    }
    free((void *)filter.insns);
}

static void every_number_is_answered_as_by_libseccomp(void **state)
{
    (void)state;
    for_each_subject(check_numbers_against_library);
}

struct library_call {
    uint32_t number;
    struct policy_filter filter;
};

/* What our rules for libseccomp cannot say: it has no "differs from" for the low half of an
 * argument, and none that comes before another. */
static bool is_beyond_library(const struct model_call *call, const uint64_t *args)
{
    if (strcmp(call->name, "setsockopt") == 0 ||
        (call->policy && strcmp(call->name, "socket") == 0))
        return true;
    return strcmp(call->name, "prlimit64") == 0 &&
           ((uint32_t)args[1] >= 16 || (uint32_t)args[1] == 4);
}

static void check_args_against_library(const struct subject *s, const struct model_call *call,
                                       const uint64_t *args, void *context)
{
    const struct library_call *library = context;
    struct seccomp_data data = { .nr = (int)library->number, .arch = s->arch->audit };

    uint32_t expected;

    if (is_beyond_library(call, args))
        return;
    memcpy(data.args, args, sizeof(data.args));
    expected = bpf_sim_run(library->filter, &data, NULL);
    /* It cannot put an error into a question. */
    if (expected == SECCOMP_RET_USER_NOTIF)
        expected = call->answer(args);
    assert_answer(s, library->number, args, expected);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* A filter for one call, so that what no rule covers has the answer of that call. */
static void check_call_against_library(const struct subject *s, const struct model_call *call,
                                       uint32_t number)
{
    scmp_filter_ctx ctx = library_new(s->arch, call->otherwise);
    struct library_call library = { .number = number };

    for (size_t i = 0; i < model_rules_len; i++) {
        const struct model_rule *rule = &model_rules[i];

        if (strcmp(rule->call, call->name) == 0 && same_text(rule->policy, call->policy))
            assert_int_equal(seccomp_rule_add_array(ctx, rule->action,
                                                    seccomp_syscall_resolve_name(call->name),
                                                    rule->n, rule->when),
                             0);
    }
    library.filter = library_export(ctx);
    for_all_args(s, call, check_args_against_library, &library);
    free((void *)library.filter.insns);
}

static void check_all_args_against_library(const struct subject *s)
{
    for (uint32_t number = 0; model_has(s->policy->name) && number < LIBRARY_KNOWS_BELOW;
         number++) {
        const struct model_call *call;
        char name[64];

        model_name(s->arch, (int)number, name, sizeof(name));
        call = model_find_call(s->policy->name, name);
        /* libseccomp has no filter that asks the supervisor by default. */
        if (call && call->otherwise != SECCOMP_RET_USER_NOTIF)
            check_call_against_library(s, call, number);
    }
}

static void arguments_decide_as_by_libseccomp(void **state)
{
    (void)state;
    for_each_subject(check_all_args_against_library);
}

static void the_default_policy_is_first_and_strict_shows_less_of_proc(void **state)
{
    (void)state;
    for (size_t a = 0; a < MODEL_ARCHS; a++) {
        assert_string_equal(tables[a][0]->name, "default");
        assert_int_equal(tables[a][0]->proc, POLICY_PROC_MASKED);
        for (size_t i = 1; tables[a][i]; i++) {
            bool strict = strcmp(tables[a][i]->name, "strict") == 0;

            assert_true(i == 1 || strcmp(tables[a][i - 1]->name, tables[a][i]->name) < 0);
            assert_int_equal(tables[a][i]->proc == POLICY_PROC_PID,
                             strict || !model_has(tables[a][i]->name));
        }
    }
}

static void a_policy_is_found_by_name_and_the_default_without_one(void **state)
{
    (void)state;
    assert_string_equal(policy_find(NULL)->name, "default");
    assert_string_equal(policy_find("default")->name, "default");
    assert_string_equal(policy_find("strict")->name, "strict");
    assert_null(policy_find(""));
    assert_null(policy_find("Strict"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_would_accept_every_filter),
        cmocka_unit_test(a_filter_is_short_enough_to_install_for_every_run),
        cmocka_unit_test(every_number_is_answered_as_the_contract_says),
        cmocka_unit_test(numbers_of_the_x32_abi_end_the_process),
        cmocka_unit_test(calls_of_another_architecture_end_the_process),
        cmocka_unit_test(arguments_decide_as_the_kernel_would_read_them),
        cmocka_unit_test(every_number_is_answered_as_by_libseccomp),
        cmocka_unit_test(arguments_decide_as_by_libseccomp),
        cmocka_unit_test(the_default_policy_is_first_and_strict_shows_less_of_proc),
        cmocka_unit_test(a_policy_is_found_by_name_and_the_default_without_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
