/* The machine that tells what a filter said, next to one that was written for the tests, and to the
 * kernel. */
#include <errno.h>
#include <linux/filter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arch.h"
#include "bpf_sim.h"
#include "plan/filter.h"

#define NUMBERS 520

static struct policy_filter filter_of(const struct policy_insn *insns, size_t len)
{
    return (struct policy_filter){ insns, len };
}
#define FILTER(...)                                                                                \
    filter_of((const struct policy_insn[]){ __VA_ARGS__ },                                         \
              sizeof((const struct policy_insn[]){ __VA_ARGS__ }) / sizeof(struct policy_insn))

static uint32_t eval(struct policy_filter filter, uint64_t arg)
{
    const struct seccomp_data data = { .nr = 7, .arch = 9, .args = { arg, arg } };

    return filter_eval(&filter, &data);
}

static void every_policy_is_answered_as_by_the_other_machine(void **state)
{
    static const uint64_t args[] = {
        0, 1, 2, 3, 10, 16, 17, 0x4000, 0x5412, 0x10000011, UINT64_MAX
    };

    (void)state;
    for (const struct policy *const *p = policy_table; *p; p++) {
        for (uint32_t i = 0; i < NUMBERS * 11; i++) {
            uint64_t a = args[i / NUMBERS], b = args[i % 11];
            struct seccomp_data data = { .nr = (int)(i % NUMBERS), .arch = ARCH_AUDIT };

            memcpy(data.args, (uint64_t[]){ a, b, a, b, a, b }, sizeof(data.args));
            assert_int_equal(filter_eval(&(*p)->filter, &data),
                             bpf_sim_run((*p)->filter, &data, NULL));
        }
    }
}

static void jumps_go_where_the_kernel_goes(void **state)
{
    static const struct {
        uint16_t op;
        uint32_t k, below, equal, above;
    } rows[] = {
        { BPF_JEQ, 5, 0, 1, 0 },
        { BPF_JGE, 5, 0, 1, 1 },
        { BPF_JGT, 5, 0, 0, 1 },
        { BPF_JSET, 4, 1, 1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct policy_insn insns[] = {
            { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args) },
            { (uint16_t)(BPF_JMP | rows[i].op | BPF_K), 0, 1, rows[i].k },
            { BPF_RET | BPF_K, 0, 0, 1 },
            { BPF_RET | BPF_K, 0, 0, 0 },
        };

        assert_int_equal(eval(filter_of(insns, 4), 4), rows[i].below);
        assert_int_equal(eval(filter_of(insns, 4), 5), rows[i].equal);
        assert_int_equal(eval(filter_of(insns, 4), 6), rows[i].above);
        /* only the lower half was loaded */
        assert_int_equal(eval(filter_of(insns, 4), 1ULL << 32 | 5), rows[i].equal);
    }
}

static void a_mask_keeps_its_bits_and_a_plain_jump_jumps(void **state)
{
    (void)state;
    assert_int_equal(eval(FILTER({ BPF_LD | BPF_W | BPF_ABS, 0, 0, 16 },
                                 { BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf },
                                 { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 2 },
                                 { BPF_RET | BPF_K, 0, 0, 1 }, { BPF_RET | BPF_K, 0, 0, 0 }),
                          0xf2),
                     1);
    assert_int_equal(eval(FILTER({ BPF_JMP | BPF_JA, 0, 0, 1 }, { BPF_RET | BPF_K, 0, 0, 1 },
                                 { BPF_RET | BPF_K, 0, 0, 2 }),
                          0),
                     2);
}

static void what_runs_wild_counts_as_the_strictest_answer(void **state)
{
    const struct policy_filter wild[] = {
        FILTER({ BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 }),
        FILTER({ BPF_LD | BPF_W | BPF_ABS, 0, 0, 64 },
               { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW }),
        FILTER({ BPF_LD | BPF_W | BPF_ABS, 0, 0, UINT32_MAX },
               { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW }),
        FILTER({ BPF_JMP | BPF_JA, 0, 0, 1 }, { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW }),
        FILTER({ BPF_JMP | BPF_JA, 0, 0, UINT32_MAX },
               { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW }),
        FILTER({ BPF_JMP | BPF_JEQ | BPF_K, 9, 9, 0 },
               { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW }),
        FILTER({ BPF_ST, 0, 0, 0 }, { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW }),
        FILTER({ BPF_RET | BPF_A, 0, 0, 0 }),
        { NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
        assert_int_equal(eval(wild[i], 0), SECCOMP_RET_KILL_PROCESS);
}

/* The kernel's own trampolines use these two, and end who else does. */
static bool is_shown(int number)
{
#if defined(__x86_64__)
    return number != 335 && number != 336;
#else
    return number >= 0;
#endif
}

/* In a child that gets the policy's filter and says what the kernel answered to harmless numbers
 * (0: done): all of them are refused, so that nothing happens. */
static void child_asks(const struct policy_filter *filter, int *answers)
{
    struct sock_fprog program = { .len = (unsigned short)filter->len,
                                  .filter = (struct sock_filter *)filter->insns };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        _exit(2);
    for (int number = 0; number < NUMBERS; number++) {
        uint32_t said = filter_eval_number(filter, number);

        if ((said & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && is_shown(number))
            answers[number] = syscall(number, 0, 0, 0, 0, 0, 0) < 0 ? errno : 0;
    }
    _exit(0);
}

static void the_kernel_gives_the_same_error(void **state)
{
    int *answers = mmap(NULL, NUMBERS * sizeof(int), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct policy_filter *filter = &policy_find(NULL)->filter;
    int asked = 0, status = 0;
    pid_t pid = fork();

    (void)state;
    assert_true(answers != MAP_FAILED);
    if (pid == 0)
        child_asks(filter, answers);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int number = 0; number < NUMBERS; number++) {
        uint32_t said = filter_eval_number(filter, number);

        if ((said & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ERRNO || !is_shown(number))
            continue;
        asked++;
        assert_int_equal(answers[number], said & SECCOMP_RET_DATA);
    }
    assert_true(asked > 100);
    munmap(answers, NUMBERS * sizeof(int));
}

static void every_refused_number_has_a_rule_that_names_it(void **state)
{
    (void)state;
    for (const struct policy *const *p = policy_table; *p; p++) {
        for (size_t i = 1; i < (*p)->n_rules; i++)
            assert_true((*p)->rules[i - 1].number < (*p)->rules[i].number);
        for (int number = 0; number < NUMBERS; number++) {
            uint32_t said = filter_eval_number(&(*p)->filter, number);
            const struct policy_rule *rule = policy_rule_find(*p, number);
            bool quiet = said == SECCOMP_RET_ALLOW || said == (SECCOMP_RET_ERRNO | ENOSYS);

            if (!quiet)
                assert_non_null(rule);
            if (rule)
                assert_true(strlen(rule->about) > 0 && strlen(rule->call) > 0 &&
                            strstr(rule->file, ".yaml"));
        }
        assert_null(policy_rule_find(*p, -1));
        assert_null(policy_rule_find(*p, 100000));
        assert_ptr_equal(policy_of(&(*p)->filter), *p);
    }
    assert_null(policy_of(&(struct policy_filter){ NULL, 0 }));
    assert_string_equal(policy_rule_find(policy_find(NULL), SYS_mount)->about,
                        "namespaces, roots and mounts");
    assert_string_equal(policy_rule_find(policy_find("strict"), SYS_socket)->file, "strict.yaml");
    assert_string_equal(policy_rule_find(policy_find("strict"), SYS_mount)->file, "default.yaml");
}

static void the_strictest_of_several_filters_decides_and_of_those_the_last(void **state)
{
    const struct policy_insn allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
                             ask = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF },
                             eperm = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM },
                             enosys = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS },
                             end = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS };
    const struct {
        const struct policy_insn *filters[3];
        size_t decides;
    } rows[] = {
        { { &allow, &allow, &allow }, 2 },  { { &eperm, &allow, &ask }, 0 },
        { { &eperm, &allow, &enosys }, 2 }, { { &enosys, &eperm, &allow }, 1 },
        { { &ask, &end, &eperm }, 1 },      { { &end, &eperm, &ask }, 0 },
    };
    const struct seccomp_data data = { .arch = ARCH_AUDIT };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct policy_filter filters[3];
        uint32_t answer;

        for (size_t k = 0; k < 3; k++)
            filters[k] = filter_of(rows[i].filters[k], 1);
        assert_int_equal(filter_eval_all(filters, 3, &data, &answer), rows[i].decides);
        assert_int_equal(answer, rows[i].filters[rows[i].decides]->k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_is_answered_as_by_the_other_machine),
        cmocka_unit_test(jumps_go_where_the_kernel_goes),
        cmocka_unit_test(a_mask_keeps_its_bits_and_a_plain_jump_jumps),
        cmocka_unit_test(what_runs_wild_counts_as_the_strictest_answer),
        cmocka_unit_test(the_kernel_gives_the_same_error),
        cmocka_unit_test(every_refused_number_has_a_rule_that_names_it),
        cmocka_unit_test(the_strictest_of_several_filters_decides_and_of_those_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
