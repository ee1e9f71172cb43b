/* A policy is data: policies/NAME.yaml.  System call rules become BPF when the project is built. */
#ifndef PLAN_POLICY_H
#define PLAN_POLICY_H

#include <stddef.h>
#include <stdint.h>

enum policy_proc {
    POLICY_PROC_MASKED, /* whole procfs, read-only, with the telling files masked */
    POLICY_PROC_PID     /* only the processes of the sandbox                      */
};

/* Same layout as the kernel's struct sock_filter. */
struct policy_insn {
    uint16_t code;
    uint8_t jt, jf;
    uint32_t k;
};

struct policy_filter {
    const struct policy_insn *insns;
    size_t len;
};

struct policy {
    const char *name;
    const char *about;
    enum policy_proc proc;
    struct policy_filter filter; /* for the architecture that this build is for */
};

/* NULL-terminated, "default" first; generated from policies/. */
extern const struct policy *const policy_table[];

const struct policy *policy_find(const char *name); /* NULL: "default" */

#endif
