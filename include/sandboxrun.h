/* sandboxrun.h - run untrusted code, and learn exactly what happened.
 *
 *   #include <sandboxrun.h>
 *   cc example.c $(pkg-config --cflags --libs sandboxrun)
 *
 * Conventions.  A function that can fail returns 0 or a negative enum sbr_code and fills *err when
 * err is not NULL; it writes outputs (`ret`) on success only.  A setter without `err` leaves the
 * reason in the request (sbr_request_error).  An error means that the program did not run.  A
 * result means that it did, even when it was killed: its report has the verdict.
 *
 * Threads.  Any number of threads may share a runtime.  A request, job or result belongs to one
 * thread at a time.  The library installs no signal handler, never waits for children that it did
 * not start, and never ends the calling process. */
/* lint-ok: length: one header is the whole interface of the library */
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
    SBR_INTERNAL_ERROR,
    SBR_INSTALL_FAILED /* packages could not be installed, so the program did not run */
};

/* The value of a limit that is switched off: SBR_WALL_MS, SBR_CPU_MS, SBR_CPU_MILLIS and
 * SBR_OUTPUT_BYTES can be. */
#define SBR_NO_LIMIT UINT64_MAX

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
    /* Of a long stream `out` is the beginning and `out_tail` the end; NULL when nothing is missing
     * between them.  The program wrote out_bytes in all. */
    const char *out_tail;
    size_t out_tail_len;
    uint64_t out_bytes;
    const char *errout_tail;
    size_t errout_tail_len;
    uint64_t errout_bytes;
} sbr_report;

/* What everything inside uses while it runs.  The caller sets struct_size to its size. */
enum sbr_metric {
    SBR_METRIC_CPU = 1,
    SBR_METRIC_MEMORY = 2,
    SBR_METRIC_PROCESSES = 4,
    SBR_METRIC_IO = 8
};

typedef struct sbr_metrics {
    size_t struct_size;
    uint32_t known;    /* enum sbr_metric: the fields of the others are 0, because this machine does
                        * not count them, or because nothing runs now */
    const char *stage; /* what the figures are of: "compile", "run", ...; NULL: nothing runs now */
    uint64_t wall_us;  /* since the stage's program began */
    uint64_t cpu_user_us;
    uint64_t cpu_system_us;
    uint64_t memory_bytes;      /* now, cached file pages of the run included */
    uint64_t peak_memory_bytes; /* so far; 0 without a cgroup */
    uint64_t processes;         /* alive now, threads included */
    uint64_t io_read_bytes;     /* by system calls, from files, pipes and sockets */
    uint64_t io_write_bytes;
    uint64_t out_bytes; /* that the program has written to stdout so far */
    uint64_t errout_bytes;
} sbr_metrics;

enum sbr_stream { SBR_STDIN = 0, SBR_STDOUT = 1, SBR_STDERR = 2 };

/* What happened in a job.  Values are stable; new ones are only added. */
enum sbr_event_type {
    SBR_EVENT_STAGE = 1, /* `stage` begins; again when it goes on after waiting for the engine */
    SBR_EVENT_QUEUE,     /* the job waits for the engine: `queue_before` jobs are before it */
    SBR_EVENT_PROGRESS,  /* a tree is being copied: `files` and `bytes` so far */
    SBR_EVENT_DENIAL,    /* something was refused; each target and rule once */
    SBR_EVENT_METRICS,   /* `metrics`, as sbr_job_set_metrics_every asked */
    SBR_EVENT_STDIN,     /* after a write that was cut short: there is room again, or the program
                          * reads no more, which the next write reports */
    SBR_EVENT_PORT       /* the port `port` of `target` leads to `inside_port`; before any stage */
};

/* All pointers are borrowed and valid during the call; those of other types are NULL. */
typedef struct sbr_event {
    size_t struct_size; /* set by the library, so that the struct can grow */
    int type;           /* enum sbr_event_type */
    uint64_t time_us;   /* since the job was started */
    const char *stage;  /* "prepare", "dependencies", "compile", "check" or "run"; NULL: before */
    unsigned int queue_before;
    uint64_t files;
    uint64_t bytes;
    const char *kind;   /* of the denial: "connect", "name", "file", "syscall", ... */
    const char *target; /* what was wanted */
    const char *rule;   /* what refused it */
    const char *remedy; /* what would allow it, or NULL */
    const sbr_metrics *metrics;
    unsigned int port; /* of the host; `target` has its addresses */
    unsigned int inside_port;
} sbr_event;

typedef void sbr_output_fn(void *context, int stream, const char *data, size_t len);
typedef void sbr_event_fn(void *context, const sbr_event *event);

/* Short stable words, as JSON has them: "timeout", "not_found", "memory_bytes".  NULL for a number
 * that is none.  Borrowed for ever. */
const char *sbr_verdict_name(int verdict);
const char *sbr_code_name(int code);
const char *sbr_limit_name(int limit);

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
/* Runs a small command in a sandbox, as a request with the default settings would.  0: runs work;
 * otherwise *err says what this machine or its engine lacks. */
int sbr_runtime_check(sbr_runtime *rt, sbr_error *err);
void sbr_runtime_close(sbr_runtime *rt);
/* Adds a language from a file (docs/languages.md).  It hides one of the same name, in every runtime
 * of the process and as long as the process lives.  Call it before any run, and not from two
 * threads at once. */
int sbr_language_add_file(const char *path, sbr_error *err);

/* `language` is a name or an alias, also with @VERSION, or NULL for a plain command
 * (sbr_request_set_argv).  `policy` is the name of a shipped policy, or NULL for "default".
 * SBR_E_NOT_FOUND: there is none of that name; the message has the nearest one. */
int sbr_request_new(const char *language, const char *policy, sbr_request **ret, sbr_error *err);
/* The JSON form of a request, as `sandbox-run run --request FILE` reads it. */
int sbr_request_from_json(const char *json, size_t len, sbr_request **ret, sbr_error *err);
/* Why the last setter of this request refused; its code is SBR_OK while none has.  Borrowed. */
const sbr_error *sbr_request_error(const sbr_request *req);
/* The program as text, in a file that has the name that the language expects. */
int sbr_request_set_code(sbr_request *req, const char *code, size_t len);
/* Puts the program, which was set before, in a template (docs/templates.md): one that ships with
 * the language, by its name, or a file, by a path with a '/'.  `values` are NAME=VALUE, with a
 * NULL behind them; NULL: none. */
int sbr_request_set_template(sbr_request *req, const char *name, const char *const *values);
/* Adds a file in the work directory; the first one is the program.  `path` is relative. */
int sbr_request_add_file(sbr_request *req, const char *path, const void *data, size_t len);
/* The same with mode 0755 in place of 0644. */
int sbr_request_add_executable(sbr_request *req, const char *path, const void *data, size_t len);
int sbr_request_set_stdin(sbr_request *req, const void *data, size_t len);
/* Adds arguments of the program; without a language, the command.  NULL-terminated, copied. */
int sbr_request_set_argv(sbr_request *req, const char *const *argv);
int sbr_request_set_env(sbr_request *req, const char *name, const char *value);
int sbr_request_set_limit(sbr_request *req, enum sbr_limit which, uint64_t value);
/* Of the stages `compile` and `check`; the language has the others. */
int sbr_request_set_compile_limit(sbr_request *req, enum sbr_limit which, uint64_t value);
/* Where the program starts, inside: an absolute path; without it, /work. */
int sbr_request_set_workdir(sbr_request *req, const char *dir);
/* What makes the container around the sandbox: "native" (the default: nothing does), "auto",
 * "oci:crun", "oci:runc", "oci:/PATH", "docker", "podman", or either with ":/SOCKET". */
int sbr_request_set_backend(sbr_request *req, const char *name);
/* The program sees the files of an image, and its tools are those of the image: a directory, or a
 * name that `sandbox-run image pull` has brought. */
int sbr_request_set_image(sbr_request *req, const char *ref);
/* Adds an argument for the compiler. */
int sbr_request_add_compile_arg(sbr_request *req, const char *arg);
/* The least isolation: "container" (the default), "reduced" or "process". */
int sbr_request_set_require(sbr_request *req, const char *tier);
/* The program's stdin, stdout and stderr are a terminal of this size; all output is stdout. */
int sbr_request_set_tty(sbr_request *req, unsigned int rows, unsigned int columns);
/* For whom the run is, at most 63 bytes: an engine with a queue serves callers in turn.  Without
 * it the caller is the calling process. */
int sbr_request_set_caller(sbr_request *req, const char *name);
/* Adds a package that the program needs, NAME or NAME@VERSION; it is installed once, in a sandbox
 * of its own. */
int sbr_request_add_dependency(sbr_request *req, const char *name);
/* What the program can reach: "none" (the default), "localhost", "allow" or "full". */
int sbr_request_set_network(sbr_request *req, const char *mode);
/* Adds a host, as `--allow-host` takes it: NAME, *.NAME, ADDRESS or ADDRESS/BITS, each also with
 * :PORT.  Without a mode it sets "allow"; with "none" or "localhost" the run is refused. */
int sbr_request_allow_host(sbr_request *req, const char *rule);
/* Makes a TCP port of the host's loopback lead to one inside, as `--publish` takes it:
 * [HOST:]PORT[:INSIDE].  With port 0 the kernel chooses one; SBR_EVENT_PORT and the result say
 * which. */
int sbr_request_publish(sbr_request *req, const char *port);
/* Adds a secret, as `--secret` takes it: NAME[=VALUE|=@FILE]:HOST[,HOST...], by default the value
 * of the variable NAME.  Inside, NAME is a placeholder; the value goes to these hosts only. */
int sbr_request_add_secret(sbr_request *req, const char *spec);
/* Sets what the request leaves open by the user's configuration file and, with `dir`, by the
 * project's file there (docs/configuration.md).  The library reads no configuration unless it is
 * called.  0; 1: the same, but *err says why something of the project's file was not taken;
 * negative: a file has a fault, and the run should not be started. */
int sbr_request_apply_config(sbr_request *req, const char *dir, sbr_error *err);
/* Allows lookups of every name, not only of the allowed hosts.  Only with "allow" and "full". */
int sbr_request_allow_dns(sbr_request *req, int allow);
/* Adds a file or directory of the host, SRC:DST or SRC:DST:MODE: "ro" (the default), "rw": writes
 * reach the host, or "cow": changes stay in the sandbox.  "ro+sockets" and "rw+sockets" let the
 * program connect to the host's sockets in it.  SRC and DST are absolute. */
int sbr_request_add_volume(sbr_request *req, const char *spec);
/* A directory of the host as /work, copy-on-write; an absolute path. */
int sbr_request_set_project(sbr_request *req, const char *dir);
/* Leaves files of the project, and of volumes with "cow", out of what the program sees, besides
 * secrets such as .env and private keys: a pattern of a .gitignore.  May be called again; the list
 * is `excluded` of the result. */
int sbr_request_add_exclude(sbr_request *req, const char *pattern);
/* Shows what would be left out; wins over every other pattern. */
int sbr_request_add_include(sbr_request *req, const char *pattern);
/* Only these commands exist inside, "ls,sed", and the one that is run.  For commands and shells. */
int sbr_request_allow_commands(sbr_request *req, const char *names);
/* The program is this file of the project, relative to it, and runs where it is. */
int sbr_request_set_program(sbr_request *req, const char *path);
/* A /work that is kept between runs, by its name; created on first use.  The disk and inode limits
 * bound it. */
int sbr_request_set_workspace(sbr_request *req, const char *name);
/* Adds files to collect after the run, PATTERN or PATTERN:DIR; DIR is absolute. */
int sbr_request_add_output(sbr_request *req, const char *spec);
/* `flags` of enum sbr_changes_flag, or 0. */
int sbr_request_set_changes(sbr_request *req, unsigned int flags);
/* Not 0: the program cannot change the files of the image; /work, /tmp and volumes stay as they
 * are. */
int sbr_request_set_read_only(sbr_request *req, int read_only);
/* Not 0: all of stdout and stderr is kept in files of the state directory, up to 1 GiB and for a
 * day.  The result has `output_id`, and `sandbox-run output ID` prints it. */
int sbr_request_set_keep_output(sbr_request *req, int keep);
/* Not 0: stdout is buffered as the language does it in a pipe, not line by line. */
int sbr_request_set_buffered(sbr_request *req, int buffered);
/* Compile or check the program, but do not run it. */
int sbr_request_set_check(sbr_request *req, int check);
/* Not 0: the arguments are the command, and the language gives it its tools and packages. */
int sbr_request_set_command(sbr_request *req, int command);
/* Run even when some isolation is unavailable; the result then names what was missing.  As
 * sbr_request_set_require with "process": the later one counts, and both win over the
 * configuration's `require`.  0 takes it back. */
int sbr_request_allow_degraded(sbr_request *req, int allow);
void sbr_request_free(sbr_request *req);

/* Runs the request to its end. */
int sbr_run(sbr_runtime *rt, const sbr_request *req, sbr_result **ret, sbr_error *err);

/* Runs a line of shell: {"command", "config", "files"} of docs/http.md as JSON, in `len` bytes.
 * *ret is {"exitCode", "stdout", "stderr", "duration", "resourceUsage"}; the caller frees it. */
int sbr_execute(sbr_runtime *rt, const char *json, size_t len, char **ret, sbr_error *err);

/* sbr_run in steps, for callers with their own event loop: wait until sbr_job_fd is readable, then
 * call sbr_job_dispatch; 1 means that *ret is the result, 0 that the job goes on.  The first
 * dispatch begins the first stage.  Request and runtime must outlive the job. */
int sbr_job_start(sbr_runtime *rt, const sbr_request *req, sbr_job **ret, sbr_error *err);
int sbr_job_fd(const sbr_job *job);
int sbr_job_dispatch(sbr_job *job, sbr_result **ret, sbr_error *err);
/* Dispatches until the end: the rest of sbr_run. */
int sbr_job_finish(sbr_job *job, sbr_result **ret, sbr_error *err);
/* Ends the run as a time-out would; dispatch returns the result.  Once more: at once.  Safe from
 * another thread. */
void sbr_job_cancel(sbr_job *job);
void sbr_job_free(sbr_job *job); /* kills and reaps a job that is still running */

/* What to do with a job's streams and events.  These are for the time between sbr_job_start and the
 * first dispatch; later they return SBR_E_INVALID.  The functions are called inside
 * sbr_job_dispatch, on its thread; they may call sbr_job_cancel, sbr_job_write_stdin,
 * sbr_job_close_stdin, sbr_job_hold_output, sbr_job_signal, sbr_job_resize and sbr_job_metrics, and
 * nothing else for this job. */

/* The program's bytes as they are read, each stream in its own order; before the result. */
int sbr_job_on_output(sbr_job *job, sbr_output_fn *fn, void *context);
int sbr_job_on_event(sbr_job *job, sbr_event_fn *fn, void *context);
/* A metrics event every so many milliseconds, 10 at least, while a stage runs; 0: none. */
int sbr_job_set_metrics_every(sbr_job *job, unsigned int ms);
/* SBR_STDOUT, SBR_STDERR: passes the stream on to `fd`, without copies where the kernel can; a
 * reader that leaves is a closed pipe for the program, and lost bytes are an error of dispatch.
 * SBR_STDIN: the program reads `fd` in place of the request's stdin.  `fd` is borrowed and must
 * stay open; its flags stay as they are. */
int sbr_job_pass(sbr_job *job, enum sbr_stream stream, int fd);
/* 0: the result has no output; for streams that are passed on or given to sbr_job_on_output. */
int sbr_job_set_result_output(sbr_job *job, int keep);

/* Adds to the program's stdin, behind the request's.  How many bytes were taken: at most 1 MiB
 * waits for the program, and SBR_EVENT_STDIN reports room after a write that was cut short.  The
 * first write comes before the first dispatch, may have no bytes, and leaves stdin open until
 * sbr_job_close_stdin; without it the program reads end-of-file behind the request's stdin.
 * SBR_E_INVALID: stdin is not open; SBR_E_NOT_FOUND: the program reads no more. */
int64_t sbr_job_write_stdin(sbr_job *job, const void *data, size_t len);
int sbr_job_close_stdin(sbr_job *job);
/* 1: no more output is read, and the program waits once its pipes are full; 0: it is read again.
 * What is in the pipes when the program ends comes nevertheless. */
int sbr_job_hold_output(sbr_job *job, int hold);
/* Sends a signal to the program's process group, and a new size to its terminal.  Nothing while the
 * program does not run, or has no terminal.  SBR_E_INVALID: there is no such signal or size. */
int sbr_job_signal(sbr_job *job, int number);
int sbr_job_resize(sbr_job *job, unsigned int rows, unsigned int columns);
/* What everything inside uses now; set ret->struct_size first. */
int sbr_job_metrics(const sbr_job *job, sbr_metrics *ret);

/* Many runs, some of them at a time.  The caller sets struct_size; all callbacks come from inside
 * sbr_batch_run. */
typedef struct sbr_batch {
    size_t struct_size;
    unsigned int jobs; /* at a time; 0: as many as there are processors */
    int first_alone;   /* not 0: the first run ends before others begin, so that what it compiles or
                        * installs is there for them */
    int stop_fd;       /* readable: the runs that are going on are cancelled; 0: none */
    void *context;
    /* 1: *ret is the next request, which must live until `done` was called with *ret_item; 0: there
     * is none now.  It is asked again after each end; the batch is over when nothing runs. */
    int (*next)(void *context, const sbr_request **ret, void **ret_item);
    /* The result, which is the callee's to free, or NULL and the error. */
    void (*done)(void *context, void *item, sbr_result *result, const sbr_error *err);
} sbr_batch;
/* Runs until nothing is left.  SBR_E_INVALID: the struct is wrong; SBR_E_SYSTEM: the machine cannot
 * wait for so many runs. */
int sbr_batch_run(sbr_runtime *rt, const sbr_batch *batch, sbr_error *err);

/* How a project is built (docs/build.md).  The caller sets struct_size. */
typedef struct sbr_build {
    size_t struct_size;
    const char *tool;       /* "make", "cargo", ...; NULL: by the files of the project */
    const char *output_dir; /* where artifacts are copied to, absolute; NULL: they are kept as
                             * changes, for sbr_changes_apply */
    int twice;              /* not 0: builds again, and compares the bytes of the artifacts */
    int stop_fd;            /* readable: the build is cancelled; 0: none */
    int installs_nothing;   /* not 0: a tool that the machine lacks is not installed as a package */
} sbr_build;
/* Builds the project of the request (sbr_request_set_project), or its files, in a sandbox.  The
 * request's arguments go to the tool, and the request is completed: language, command, and limits
 * for a build where none are given.  *ret becomes JSON, the result of the run with the tool, its
 * messages and its artifacts; the caller frees it.  SBR_E_NOT_FOUND: nothing says how to build. */
int sbr_build_run(sbr_runtime *rt, sbr_request *req, const sbr_build *how, char **ret,
                  sbr_error *err);

/* How the tests of a project run (docs/batch.md).  The caller sets struct_size. */
typedef struct sbr_test {
    size_t struct_size;
    const char *runner;   /* "pytest", "cargo", ...; NULL: by the files of the project */
    unsigned int repeat;  /* runs, up to 1000; cases that fail in some of them are flaky; 0: one */
    int coverage;         /* not 0: how much of the code ran, where the runner says it */
    int stop_fd;          /* readable: the run is cancelled; 0: none */
    int installs_nothing; /* not 0: a runner that the machine lacks is not installed as a package */
} sbr_test;
/* Runs the tests of the request's project (sbr_request_set_project), or of its files, in a sandbox.
 * The request's arguments go to the runner, and the request is completed: language, command, and
 * limits for tests where none are given.  *ret becomes JSON, the result of the last run with the
 * runner and its cases; the caller frees it.  SBR_E_NOT_FOUND: there is no sign of tests. */
int sbr_test_run(sbr_runtime *rt, sbr_request *req, const sbr_test *how, char **ret,
                 sbr_error *err);

/* Golden cases: commands with what is expected of them (docs/build.md).  The caller sets
 * struct_size. */
typedef struct sbr_golden {
    size_t struct_size;
    const char *dir;   /* of the cases, absolute; NULL: `cases` has them */
    const char *cases; /* a JSON array of cases, each an object as docs/build.md has it */
    unsigned int jobs; /* cases at a time; 0: as many as there are processors */
    int update;        /* not 0: what makes the cases pass is kept as changes of `dir`, for
                        * sbr_changes_apply */
    int stop_fd;       /* readable: the cases that run are cancelled; 0: none */
} sbr_golden;
/* Runs the cases, each by a copy of the request with the case's command.  *ret becomes JSON; the
 * caller frees it.  SBR_E_NOT_FOUND: the directory has no case. */
int sbr_golden_run(sbr_runtime *rt, const sbr_request *base, const sbr_golden *how, char **ret,
                   sbr_error *err);

/* How code is verified (docs/verify.md).  The caller sets struct_size. */
typedef struct sbr_verify {
    size_t struct_size;
    const char *const
        *files; /* which are checked, NULL-terminated: paths of files of the request or
                               * of its project; NULL: all that the request has; none: the project
                               * as a whole */
    const char *const *calls; /* lines that have to be true, as "f(2, 3) == 5"; NULL: none */
    const char *const *skip;  /* checks that are left out: "syntax", "types", ...; NULL: none */
    unsigned int jobs;        /* golden cases at a time; 0: as many as there are processors */
    int stop_fd;              /* readable: no more checks are made; 0: none */
    int installs_nothing;     /* not 0: a checker that the machine lacks is not installed */
} sbr_verify;
/* Checks code in sandboxes: syntax, types, lint, tests, golden cases, examples and calls, as far as
 * there are any.  The request has the code, or files, or a project (sbr_request_set_project), and
 * what the checks share; nothing that they change is kept.  *ret becomes JSON with the verdict and
 * each check; the caller frees it.  SBR_E_BUSY: it was stopped. */
int sbr_verify_run(sbr_runtime *rt, const sbr_request *base, const sbr_verify *how, char **ret,
                   sbr_error *err);

/* What a program reads from stdin, and what messages call it. */
typedef struct sbr_input {
    const char *name;
    const void *data;
    size_t len;
} sbr_input;

/* How two programs are compared.  The caller sets struct_size. */
typedef struct sbr_compare {
    size_t struct_size;
    const sbr_input *inputs; /* of both programs */
    size_t n_inputs;         /* 0: each reads the stdin of its request */
    unsigned int repeat;     /* rounds that are measured, up to 100000; 0: 10 */
    unsigned int warm_up;    /* rounds before, which do not count */
    const char *checker;     /* of outputs: "exact", "tokens" or "floats"; NULL: exact */
    const char *tolerance;   /* of floats; NULL: "1e-6" */
    int stop_fd;             /* readable: the comparison ends; 0: none */
} sbr_compare;
/* Runs two programs in turns with the same inputs.  *ret becomes JSON: whether the outputs are the
 * same, times and memory of both, and a verdict in words; the caller frees it.  SBR_E_INVALID: a
 * program cannot be compiled; SBR_E_BUSY: it was stopped. */
int sbr_compare_run(sbr_runtime *rt, const sbr_request *a, const sbr_request *b,
                    const sbr_compare *how, char **ret, sbr_error *err);

/* How a program is measured.  The caller sets struct_size. */
typedef struct sbr_profile {
    size_t struct_size;
    unsigned int repeat;  /* runs that are measured, up to 100000; 0: 10 */
    unsigned int warm_up; /* runs before, which do not count */
    int stop_fd;          /* readable: it ends; 0: none */
    int functions;        /* not 0: one more run, with samples of its functions */
} sbr_profile;
/* Runs a program again and again.  *ret becomes JSON: times and memory of the runs, what the last
 * one used over time, and which functions used the time; the caller frees it.  SBR_E_INVALID: the
 * program cannot be compiled; SBR_E_BUSY: it was stopped. */
int sbr_profile_run(sbr_runtime *rt, const sbr_request *req, const sbr_profile *how, char **ret,
                    sbr_error *err);

const sbr_report *sbr_result_report(const sbr_result *r);
char *sbr_result_to_json(const sbr_result *r); /* the caller frees it; NULL without memory */
/* The id of the stored changes; NULL: none are stored.  Borrowed from the result. */
const char *sbr_result_changes_id(const sbr_result *r);
/* The id of the kept output, for `sandbox-run output ID`; NULL: it is not kept.  Borrowed. */
const char *sbr_result_output_id(const sbr_result *r);
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

/* Sessions: one sandbox that is kept alive with a language's kernel inside, and one cell of code
 * after the other (docs/sessions.md).  A session has a process of its own, which outlives the
 * caller; its id is all that a client needs. */
typedef struct sbr_session sbr_session; /* a connection to a session; one thread at a time */

/* The caller sets struct_size.  0: the default (an hour, a day, a minute). */
typedef struct sbr_session_bounds {
    size_t struct_size;
    uint64_t idle_ms;   /* without a cell, then the session ends */
    uint64_t age_ms;    /* then it ends in any case */
    uint64_t freeze_ms; /* without a cell, then everything inside is stopped until the next one */
    int32_t held; /* not 0: ends with the client that says {"op": "hold"}, which must come soon */
} sbr_session_bounds;

/* A line of JSON without its newline, as docs/events.md has them. */
typedef void sbr_session_line_fn(void *context, const char *line, size_t len);

/* Makes a session of the request's language.  Limits of the request hold for each cell, those of
 * memory, processes and files for all of them.  *ret becomes JSON with the `id`; the caller frees
 * it.  `bounds` may be NULL. */
int sbr_session_create(const sbr_request *req, const sbr_session_bounds *bounds, char **ret,
                       sbr_error *err);
/* JSON with all sessions of this user, those that are lost among them; the caller frees it. */
int sbr_session_list(char **ret, sbr_error *err);
/* Connects to a session; the beginning of its id is enough.  SBR_E_NOT_FOUND: there is none, or it
 * is lost. */
int sbr_session_open(const char *id, sbr_session **ret, sbr_error *err);
/* Executes one cell and waits for its end; *ret becomes the JSON of its result, which the caller
 * frees.  `timeout_ms` 0: the session's.  `fn` gets what happens, as it happens; NULL: not. */
int sbr_session_exec(sbr_session *s, const char *code, size_t len, uint64_t timeout_ms,
                     sbr_session_line_fn *fn, void *context, char **ret, sbr_error *err);
/* The same in a kernel of another language in the same sandbox: one file system, separate
 * variables.  A session has at most three.  `language` NULL: as sbr_session_exec. */
int sbr_session_exec_in(sbr_session *s, const char *language, const char *code, size_t len,
                        uint64_t timeout_ms, sbr_session_line_fn *fn, void *context, char **ret,
                        sbr_error *err);
/* Values of later cells shall fit into so many columns; 0: as they come. */
#define SBR_WIDTH_LEAST 20
#define SBR_WIDTH_MOST 1000
void sbr_session_set_width(sbr_session *s, unsigned int columns);
/* A cell with events (`fn`) reads from stdin: *ret becomes a line without its newline, in memory of
 * malloc, and 1 is returned; 0: the input ends; -1: nothing is answered, because the cell was
 * interrupted meanwhile.  `prompt` is the program's text; `hidden`: what is typed is not shown. */
typedef int sbr_session_read_fn(void *context, const char *prompt, int hidden, char **ret);
/* Who reads for later cells; NULL, as at first: their input has ended before it begins.  The time
 * of a cell stands still while it waits. */
void sbr_session_set_reader(sbr_session *s, sbr_session_read_fn *read, void *context);
/* Interrupts the cell that runs; its variables are kept.  Safe from a signal handler and from
 * another thread, while sbr_session_exec waits. */
int sbr_session_interrupt(sbr_session *s);
/* Any other operation of docs/sessions.md: {"op": "info"}.  The caller frees the answer, *ret. */
int sbr_session_call(sbr_session *s, const char *json, char **ret, sbr_error *err);
/* What the session has executed, as text: "ipynb", "md", or the language's own ("py", "js", "sql");
 * also of a session that is lost.  The caller frees it. */
int sbr_session_export(const char *id, const char *format, char **ret, sbr_error *err);
/* Executes the cells of a notebook, or of the cells.jsonl of a session, and compares what they
 * print.  *ret becomes JSON: {"cells": n, "different": [...]}; the caller frees it. */
int sbr_session_replay(sbr_session *s, const char *text, size_t len, char **ret, sbr_error *err);
/* The language of a notebook (.ipynb); *ret becomes its name here, which the caller frees. */
int sbr_notebook_language(const char *text, size_t len, char **ret, sbr_error *err);
/* Executes the code cells of a notebook in their order, up to the first that fails; one with the
 * tag "raises-exception" may fail, one with "skip-execution" is left out.  *ret becomes JSON:
 * {"cells": n, "failed": number or null, "lost": b, "results": [...]}; *ret_book, unless it is
 * NULL, the notebook with the outputs of the executed cells.  The caller frees both.  `fn` as of
 * sbr_session_exec. */
int sbr_session_notebook(sbr_session *s, const char *text, size_t len, sbr_session_line_fn *fn,
                         void *context, char **ret, char **ret_book, sbr_error *err);
/* Ends a session and removes what is left of it. */
int sbr_session_close(const char *id, sbr_error *err);
/* The same; *ret becomes JSON, for a request with changes to keep with their `changes_id`; the
 * caller frees it. */
int sbr_session_finish(const char *id, char **ret, sbr_error *err);
void sbr_session_free(sbr_session *s); /* the session lives on */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
