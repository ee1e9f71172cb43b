/* sandboxrun.h - run untrusted code, and learn exactly what happened.
 *
 *   #include <sandboxrun.h>
 *   cc example.c $(pkg-config --cflags --libs sandboxrun)
 *
 * Conventions.  A function that can fail returns 0 or a negative enum sbr_code and fills *err when
 * err is not NULL; it writes outputs (`ret`) on success only.  An error means that the program did
 * not run.  A result means that it did, even when it was killed: its report has the verdict.
 *
 * Threads.  Any number of threads may share a runtime.  A request, job or result belongs to one
 * thread at a time.  The library installs no signal handler, never waits for children that it did
 * not start, and never ends the calling process. */
#ifndef SANDBOXRUN_H
#define SANDBOXRUN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define SBR_VERSION_MAJOR 0
#define SBR_VERSION_MINOR 1
#define SBR_VERSION_PATCH 0

typedef struct sbr_runtime sbr_runtime; /* languages, policies, features of this machine */
typedef struct sbr_request sbr_request; /* what to run; pure data */
typedef struct sbr_job sbr_job;         /* one run in progress */
typedef struct sbr_result sbr_result;   /* what happened; immutable */

enum sbr_code {
    SBR_OK = 0,
    SBR_E_INVALID = -1,     /* the request is wrong; the message says where and how to correct it */
    SBR_E_NOT_FOUND = -2,   /* no such language, file or command */
    SBR_E_UNSUPPORTED = -3, /* this machine lacks what the request needs */
    SBR_E_DENIED = -4,      /* a rule of the host or of the policy forbids it */
    SBR_E_BUSY = -5,        /* nothing is free now; a retry may succeed */
    SBR_E_NO_MEMORY = -6,
    SBR_E_SYSTEM = -7, /* a system call failed; see sys_errno */
    SBR_E_BUG = -8     /* a defect of this library */
};

/* The program could not run.  Plain data, nothing to free; small enough for one write to a pipe. */
typedef struct sbr_error {
    int32_t code;      /* enum sbr_code */
    int32_t sys_errno; /* errno behind SBR_E_SYSTEM, otherwise 0 */
    char stage[24];    /* "request", "mounts", "seccomp", ... */
    char message[480]; /* one sentence for a person */
} sbr_error;

/* How a run ended.  Values are stable; new ones are only added. */
enum sbr_verdict {
    SBR_EXITED = 1,
    SBR_SIGNALED,
    SBR_TIMEOUT,
    SBR_CPU_LIMIT,
    SBR_MEMORY_LIMIT,
    SBR_OUTPUT_LIMIT,
    SBR_DISK_LIMIT,
    SBR_PROCESS_LIMIT,
    SBR_DENIED,
    SBR_COMPILE_FAILED,
    SBR_CANCELLED,
    SBR_INTERNAL_ERROR
};

enum sbr_limit {
    SBR_WALL_MS,
    SBR_CPU_MS,
    SBR_MEMORY_BYTES,
    SBR_CPU_MILLIS, /* thousandths of a CPU: 1500 is one and a half */
    SBR_PIDS,
    SBR_DISK_BYTES,
    SBR_INODES,
    SBR_OPEN_FILES,
    SBR_OUTPUT_BYTES,
    SBR_GRACE_MS,    /* time between SIGTERM and SIGKILL */
    SBR_CONNECTIONS, /* TCP connections and UDP flows to the outside, in total */
    SBR_NETWORK_IN,  /* bytes from the outside */
    SBR_NETWORK_OUT
};

/* What to do with changes in copy-on-write trees. */
enum sbr_changes_flag {
    SBR_CHANGES_DIFF = 1, /* the result lists them */
    SBR_CHANGES_KEEP = 2  /* they are stored, for sbr_changes_apply */
};

/* A summary of the result; sbr_result_to_json has every field. */
typedef struct sbr_report {
    size_t struct_size; /* set by the library, so that the struct can grow */
    int verdict;        /* enum sbr_verdict */
    int exit_code;      /* -1 unless the program exited */
    int signal;         /* 0 unless a signal ended it */
    uint64_t wall_us;
    uint64_t cpu_us;
    uint64_t peak_memory_bytes;
    const char *out; /* borrowed from the result; out_len bytes, which may include NUL */
    size_t out_len;
    const char *errout;
    size_t errout_len;
} sbr_report;

/* (major << 16) | (minor << 8) | patch of the loaded library. */
uint32_t sbr_version(void);

/* Probes the machine once.  Where limits need a cgroup that only systemd can provide, this moves
 * the calling process into a scope of its own, once.  `data_dir` is reserved and must be NULL.
 *
 * Runs use sandboxes of an engine of the same user (`sandbox-run serve`) when one is running and
 * SANDBOX_RUN_COLD is not set; SANDBOX_RUN_SOCKET names its socket.  Several threads may use a
 * runtime at once. */
int sbr_runtime_open(const char *data_dir, sbr_runtime **ret, sbr_error *err);
/* JSON with languages, policies and features; the caller frees it.  NULL without memory. */
char *sbr_runtime_describe(const sbr_runtime *rt);
void sbr_runtime_close(sbr_runtime *rt);
/* Adds a language from a file (docs/languages.md).  It hides one of the same name, in every runtime
 * of the process and as long as the process lives.  Call it before any run, and not from two
 * threads at once. */
int sbr_language_add_file(const char *path, sbr_error *err);

/* `language` is a name or an alias, or NULL for a plain command (sbr_request_set_argv).
 * `policy` is the name of a shipped policy, or NULL for "default". */
int sbr_request_new(const char *language, const char *policy, sbr_request **ret, sbr_error *err);
/* The JSON form of a request, as `sandbox-run run --request FILE` reads it. */
int sbr_request_from_json(const char *json, size_t len, sbr_request **ret, sbr_error *err);
/* Adds a file in the work directory; the first one is the program.  `path` is relative. */
int sbr_request_add_file(sbr_request *req, const char *path, const void *data, size_t len);
int sbr_request_set_stdin(sbr_request *req, const void *data, size_t len);
/* Adds arguments of the program; without a language, the command.  NULL-terminated, copied. */
int sbr_request_set_argv(sbr_request *req, const char *const *argv);
int sbr_request_set_env(sbr_request *req, const char *name, const char *value);
int sbr_request_set_limit(sbr_request *req, enum sbr_limit which, uint64_t value);
/* Adds a package that the program needs, NAME or NAME@VERSION; it is installed once, in a sandbox
 * of its own. */
int sbr_request_add_dependency(sbr_request *req, const char *name);
/* What the program can reach: "none" (the default), "localhost", "allow" or "full". */
int sbr_request_set_network(sbr_request *req, const char *mode);
/* Adds a host, as `--allow-host` takes it: NAME, *.NAME, ADDRESS or ADDRESS/BITS, each also with
 * :PORT.  Without a mode it sets "allow"; with "none" or "localhost" the run is refused. */
int sbr_request_allow_host(sbr_request *req, const char *rule);
/* Allows lookups of every name, not only of the allowed hosts.  Only with "allow" and "full". */
int sbr_request_allow_dns(sbr_request *req, int allow);
/* Adds a file or directory of the host, SRC:DST or SRC:DST:MODE: "ro" (the default), "rw": writes
 * reach the host, or "cow": changes stay in the sandbox.  "ro+sockets" and "rw+sockets" let the
 * program connect to the host's sockets in it.  SRC and DST are absolute. */
int sbr_request_add_volume(sbr_request *req, const char *spec);
/* A directory of the host as /work, copy-on-write; an absolute path. */
int sbr_request_set_project(sbr_request *req, const char *dir);
/* The program is this file of the project, relative to it, and runs where it is. */
int sbr_request_set_program(sbr_request *req, const char *path);
/* A /work that is kept between runs, by its name; created on first use.  The disk and inode limits
 * bound it. */
int sbr_request_set_workspace(sbr_request *req, const char *name);
/* Adds files to collect after the run, PATTERN or PATTERN:DIR; DIR is absolute. */
int sbr_request_add_output(sbr_request *req, const char *spec);
/* `flags` of enum sbr_changes_flag, or 0. */
int sbr_request_set_changes(sbr_request *req, unsigned int flags);
/* Compile or check the program, but do not run it. */
int sbr_request_set_check(sbr_request *req, int check);
/* Run even when some isolation is unavailable; the result then names what was missing. */
int sbr_request_allow_degraded(sbr_request *req, int allow);
void sbr_request_free(sbr_request *req);

/* Runs the request to its end. */
int sbr_run(sbr_runtime *rt, const sbr_request *req, sbr_result **ret, sbr_error *err);

/* The same in steps, for callers with their own event loop: wait until sbr_job_fd is readable, then
 * call sbr_job_dispatch; 1 means that *ret is the result, 0 that the job goes on. */
int sbr_job_start(sbr_runtime *rt, const sbr_request *req, sbr_job **ret, sbr_error *err);
int sbr_job_fd(const sbr_job *job);
int sbr_job_dispatch(sbr_job *job, sbr_result **ret, sbr_error *err);
/* Ends the run as a time-out would; dispatch returns the result.  Safe from another thread. */
void sbr_job_cancel(sbr_job *job);
void sbr_job_free(sbr_job *job); /* kills and reaps a job that is still running */

const sbr_report *sbr_result_report(const sbr_result *r);
char *sbr_result_to_json(const sbr_result *r); /* the caller frees it; NULL without memory */
/* The id of the stored changes; NULL: none are stored.  Borrowed from the result. */
const char *sbr_result_changes_id(const sbr_result *r);
void sbr_result_free(sbr_result *r);

/* Makes stored changes real: all, or those at and below `paths` (NULL-terminated, or NULL).
 * SBR_E_DENIED: a target has changed in the meantime, and nothing was touched; paths in `force` are
 * applied nevertheless.  `ret_report` may be NULL; otherwise it becomes JSON with the number of
 * applied changes and the conflicts, also with SBR_E_DENIED, or NULL; the caller frees it.  After
 * an interruption each file is either old or new, and the call can be repeated. */
int sbr_changes_apply(const char *id, const char *const *paths, const char *const *force,
                      char **ret_report, sbr_error *err);
/* Restores what was there before. */
int sbr_changes_undo(const char *id, const char *const *force, char **ret_report, sbr_error *err);
/* Deletes the stored changes. */
int sbr_changes_drop(const char *id, sbr_error *err);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
