/* What the policies promise, said a second time and in another way: names from the security
 * contract, and rules as the kernel would read the arguments.  A change of policies/ that is meant
 * has to be made here too. */
#ifndef TESTS_POLICY_MODEL_H
#define TESTS_POLICY_MODEL_H
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_REFUSE(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))

/* One architecture, as the kernel and as libseccomp call it. */
struct model_arch {
    const char *name;
    uint32_t audit;
    uint32_t library;
};

enum { MODEL_X86_64, MODEL_AARCH64, MODEL_ARCHS };

extern const struct model_arch model_archs[MODEL_ARCHS];

/* A call whose arguments decide. */
struct model_call {
    const char *policy; /* that says it otherwise than the default; NULL: the default */
    const char *name;
    uint32_t (*answer)(const uint64_t *args);
    uint32_t otherwise; /* the answer when no rule of libseccomp's form below applies */
    unsigned args;      /* bit n: argument n matters                                  */
};

/* The same rules for libseccomp, whose filter the tests compare with ours. */
struct model_rule {
    const char *policy; /* as above */
    const char *call;
    uint32_t action; /* SCMP_ACT_* */
    unsigned n;
    struct scmp_arg_cmp when[3];
};

/* False for the policy of one of our own programs, which extends no other. */
bool model_has(const char *policy);

/* NULL: its answer does not depend on arguments. */
const struct model_call *model_find_call(const char *policy, const char *name);

/* The answer to a number that is no call. */
uint32_t model_unknown(const char *policy);

/* The answer to a call without argument rules. */
uint32_t model_answer(const char *policy, const char *name);

/* The number on one architecture; negative: it has no such call. */
int model_number(const struct model_arch *arch, const char *name);
/* The other way round, into `name`; an empty string: a number without a call. */
void model_name(const struct model_arch *arch, int number, char *name, size_t size);

extern const struct model_rule model_rules[];
extern const size_t model_rules_len;

#endif
