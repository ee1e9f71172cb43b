/* The supervisor of one session: a process of its own that starts one long run, whose program is
 * the language's kernel, and gives it one cell after the other.  It outlives its clients; its own
 * death ends the sandbox.
 *
 *   STARTING --ready--> READY --exec--> BUSY --done--> READY
 *       '------- the run ends, or the channel breaks ------'--> LOST --restart--> STARTING
 *
 * One process, one loop: the job's fd, the kernel's channel, the listening socket, its clients. */
#ifndef SESSION_SUPERVISOR_H
#define SESSION_SUPERVISOR_H

#include <jansson.h>

#include "base/list.h"
#include "base/loop.h"
#include "base/sha256.h"
#include "lib/event_lines.h"
#include "lib/runner.h"
#include "monitor/capture.h"
#include "sandbox/peer.h"
#include "session/frame.h"
#include "session/session_dir.h"

#define BACKGROUND_KEPT ((size_t)64 * 1024) /* of the output between cells, of each stream */

enum session_state {
    SESSION_STARTING,
    SESSION_READY,
    SESSION_BUSY,
    SESSION_LOST,
    N_SESSION_STATES
};

/* Slots of the loop. */
enum {
    TIMER_CELL,
    TIMER_KILL,
    TIMER_START,
    TIMER_IDLE,
    TIMER_AGE,
    TIMER_CHANNEL,
    TIMER_CPU,
    TIMER_HOLD,
    TIMER_LOOK,
    TIMER_ASK,
    TIMER_SEND,
    TIMER_REST,
    TIMER_ACCEPT
};

/* Why a cell did not end by itself. */
enum cell_stop { CELL_ON, CELL_TIMEOUT, CELL_CANCELLED, CELL_OUTPUT, CELL_CPU };

struct connection;
struct kernel;
struct session;
struct snapshot;

/* What the lower files call: supervisor_start.c fills it. */
struct session_hooks {
    void (*line)(struct session *s, struct connection *c, const char *line, size_t len);
    bool (*frame)(struct kernel *k, const struct frame *frame); /* false: no kernel says that */
    void (*end_kernel)(struct kernel *k, const char *reason);   /* the first one: as `lose` */
    void (*lose)(struct session *s, const char *reason);        /* ends the run */
    void (*go_on)(struct session *s);                           /* nothing runs any more */
    void (*input_left)(struct session *s); /* the client of the cell is there no more */
    void (*copy)(struct session *s, struct connection *c); /* makes a session like this one */
    void (*leave_spare)(struct session *s);                /* and one that waits */
    void (*spare_go_on)(struct session *s);                /* as go_on, of one that waits */
};

/* A kernel in the session's sandbox: its own, or one of another language that a cell asked for. */
struct kernel {
    struct session *session;
    unsigned int index; /* 0: the session's own */
    const struct language *language;
    struct loop_watch watch; /* of its channel; fd -1: it does not run */
    struct buf to, from;
    bool rests;                 /* nothing is read from it for a while */
    uint64_t life;              /* counts the kernels that this place has had */
    json_t *hello;              /* the payload of `ready`; NULL: it has not said so yet */
    struct connection *starter; /* waits for that; of another language's only */
};
#define KERNELS_MAX (1 + RUNNER_KERNELS)

/* What a client wants to be executed. */
struct cell_request {
    const struct language *language; /* NULL: the session's own */
    char *code;
    size_t len;
    uint64_t timeout_ms;
    uint64_t width;  /* columns that its values shall fit into; 0: as they come */
    uint64_t number; /* of a recorded cell that is executed again; 0: the next one */
    bool stream;
    bool unrecorded;
    bool asks;                /* the client has a person who can be asked for input */
    struct event_lines lines; /* of a stream; its client may wait for the engine before it begins */
};

/* Recorded cells that are executed before any other. */
struct replay {
    char *history; /* the record of the session whose memory is copied; NULL: none is */
    json_t *cells; /* NULL: none */
    size_t at;     /* the next one */
    bool record;   /* in a copy of a session */
    uint64_t different;
    struct snapshot *files; /* put back afterwards */
    char because[240];      /* why it was not copied otherwise; empty: it never could */
};

struct cell {
    uint64_t number;
    struct kernel *kernel; /* that executes it */
    struct cell_request request;
    struct connection *client; /* NULL: it has left, or there is none */
    struct event_lines lines;
    struct head_tail out, err;
    uint64_t out_bytes, err_bytes;
    struct buf display; /* bundles, with commas between them */
    size_t display_values;
    uint64_t display_dropped;
    struct runner_refused refused; /* before it */
    struct denials denials;        /* of a run that has ended */
    sbr_metrics before;
    bool peak_is_own; /* the peak of memory began anew with the cell */
    uint64_t started_us, started_at_us;
    enum cell_stop stop;
    uint64_t until_us; /* the end of its time; while it asks: what is left of it */
    bool asks;         /* a person, for a line of input */
    uint64_t kill_us;  /* when its kernel is ended, after a stop */
    bool pressed;      /* it was interrupted */
    bool sent;         /* its kernel has been given the code */
    bool knocked;      /* its kernel was, because it did not read the cell */
};

/* See cell_slot.c. */
enum slot_state { SLOT_NONE, SLOT_ASKED, SLOT_HELD, SLOT_WITHOUT };

struct cell_slot {
    enum slot_state state;
    struct loop_watch watch; /* to the engine, kept from one cell to the next; fd -1: none */
    bool again;              /* the question was refused once */
};

/* A session that is being made like this one. */
struct session_copy {
    struct loop_garbage garbage;
    struct link link;
    struct session *session;
    struct connection *client; /* NULL: it has left */
    struct loop_watch watch;   /* of what its process says */
    struct buf said;
    char because[200]; /* the kernel cannot be copied; empty: it has not said so */
};

/* A package that is being installed for a living session. */
struct package {
    struct session *session;
    struct connection *client; /* NULL: it has left */
    sbr_request *request;
    sbr_job *job;
    struct loop_watch watch;
    const char *name; /* of the request */
};

/* How long a session may be idle and live, in milliseconds. */
struct session_bounds {
    uint64_t idle_ms, age_ms, freeze_ms;
    bool held; /* it ends with its maker */
};

/* See session/spare.c. */
struct session_spare {
    char key[SHA256_HEX_SIZE]; /* empty: a session like this one is always made anew */
    bool waits;                /* for a client; false: it has one, or never was a spare */
    uint64_t tool;             /* which interpreter its kernel was started from */
    struct loop_watch engine;
    int maker_fd; /* hears of its adoption; 0: it has no maker */
    bool taken;   /* it was a spare, and is a copy of another session */
};

struct session {
    const struct session_hooks *hooks;
    struct session_dir dir;
    sbr_request request; /* the client's, borrowed; its limits are those of the kernel's run */
    struct limits limits;
    struct session_bounds bounds;
    struct package *package; /* that is being installed; NULL: none */
    struct network granted;  /* hosts that were allowed since the start */
    struct network noted;    /* the request's with them; empty: none were */
    bool tells_changes;      /* at the end, as --diff or --keep want it */
    const struct language *language;
    sbr_runtime *rt;
    sbr_job *job; /* NULL: none runs */
    struct loop loop;
    struct loop_watch job_watch, listen_watch, dir_watch, end_watch;
    struct kernel kernels[KERNELS_MAX];
    struct pace pace; /* of reading what they say */
    struct link connections;
    struct peer_home home;
    int ready_fd; /* of the client that waits for the start; -1: none any more */
    struct session_spare spare;
    enum session_state state;
    bool over;    /* the process ends after this turn */
    bool closing; /* the client asked for the end */
    bool frozen;
    bool holds_output; /* of the cell, whose client reads slowly */
    char reason[440];  /* why the session is lost */
    struct cell *cell;
    struct cell_slot slot;
    uint64_t cells;      /* the number of the last one */
    uint64_t first_cell; /* of this kernel: those before were another's */
    bool skips;          /* numbers are left out, by a rollback */
    struct replay replay;
    struct link snapshots;       /* struct snapshot, oldest first */
    struct link copies;          /* of this session, that have not begun yet */
    bool asks;                   /* a kernel was asked, and has not answered */
    struct connection *asking;   /* waits for that; NULL: it has left */
    struct kernel *answers;      /* that one */
    bool ask_pressed;            /* it was interrupted, because it did not answer */
    bool asks_state;             /* for a checkpoint or a rollback */
    bool asks_back;              /* for the latter */
    bool asks_copy;              /* for its memory */
    uint64_t back_to;            /* the cell of a rollback by replay */
    json_t *copied;              /* of a copy: how it was made */
    struct connection *starting; /* asked for a restart */
    uint64_t asked;              /* its number */
    int image_fds[2]; /* the memory of a kernel that is being copied comes out of them; -1: none */
    bool becomes;     /* of a copy: its kernel is reading that */
    const struct network *opens; /* what the copy that is being made may reach; NULL: as this one */
    struct head_tail background[2]; /* output between cells */
    uint64_t background_bytes[2];
    struct denials background_denials; /* between cells, and of other kernels */
    uint64_t between_us;               /* CPU time that had been used when the last cell ended */
    uint64_t created_at_us, used_us, started_us, startup_us;
};

/* replay.c */
/* The recorded cells of this kernel before that number; NULL and an error when some are missing. */
json_t *replay_cells(const struct session *s, uint64_t before, sbr_error *err);
/* The memory was not copied after all: the cells of the copied session will be executed. */
int replay_history(struct session *s, sbr_error *err) must_check;
void replay_set(struct session *s, json_t *take_cells, bool record);
/* The next one; false: there is none. */
bool replay_next(struct session *s, struct cell_request *ret);
/* One has ended, with this result. */
void replay_compare(struct session *s, const char *result);
/* All are done: puts the files back, and says how it went. */
json_t *replay_report(struct session *s);

/* memory_copy.c */
/* Has the kernel write its memory for a copy; false: it cannot. */
bool memory_copy_ask(struct session *s, struct connection *c);
/* The kernel says whether it can. */
void memory_copy_answered(struct session *s, const struct frame *frame, const json_t *payload);
/* No copy is made of it. */
void memory_copy_forget(struct session *s);
/* Of a copy: its sandbox is ready for the files and the memory. */
void memory_copy_load(struct session *s);
/* It is the kernel now. */
void memory_copy_done(struct session *s);
/* The run has ended before; true: start again, without it. */
bool memory_copy_failed(struct session *s);

/* question.c */
/* Until it is answered, the kernel is asked for nothing else. */
void question_begin(struct session *s, struct connection *c, struct kernel *k, uint64_t number);
/* It was answered, or never will be; the client that waits for the answer, if it is still there. */
struct connection *question_end(struct session *s);
/* Whether cells have to wait for the answer: the files change with the state of the kernel. */
bool question_holds_cells(const struct session *s);

/* session_changes.c */
/* As session_files_list.  `keep`: as a changeset, without a diff. */
json_t *session_changes_look(struct session *s, bool keep, sbr_error *err);
/* The client has applied the changeset `id`, or those `paths` of it. */
json_t *session_changes_applied(struct session *s, const char *id, const json_t *paths,
                                sbr_error *err);

/* session_figures.c */
json_t *session_figures_used(struct session *s);
json_t *session_figures_limits(const struct session *s);

/* session_grants.c */
/* The published ports that listen, as an array; NULL: none. */
json_t *session_ports(const struct session *s);
void session_note_port(struct session *s, const sbr_event *event);
/* What a living sandbox is given: another host, another package.  Each answers the client. */
/* `move`: a session whose sandbox has no way out is copied into one that has, and the answer is
 * that of a copy. */
void session_grant_host(struct session *s, struct connection *c, bool move, const char *text);

/* session_package.c */
void session_grant_package(struct session *s, struct connection *c, const char *name);
/* idle.c */
/* Nothing runs, or nothing does any more: what cells have left may run until the session is frozen,
 * with as much CPU time as a cell. */
void idle_begin(struct session *s);
/* A cell has ended, or the kernel is ready. */
void idle_note_cpu(struct session *s);
/* The age of the session begins now, and so does its idle time when nothing runs. */
void idle_begin_life(struct session *s);
/* A session that is held ends soon unless a client says so; `heard`: its maker has the answer. */
void idle_await_hold(struct session *s, bool heard);
/* When the session expires, in seconds from now. */
double idle_expires_s(const struct session *s);

/* supervisor.c */
/* Ends what runs, if anything does, and starts a new kernel; `c` gets the answer once the cells, if
 * not NULL, have been executed again. */
void supervisor_restart(struct session *s, struct connection *c, json_t *take_cells);
/* Ends the kernel so that its changes are kept; fills the answer. */
void supervisor_close(struct session *s, const char *reason, json_t *answer);
/* Runs until the session is closed or expires. */
void supervisor_run(struct session *s);
/* Starts the kernel's run. */
int supervisor_start_job(struct session *s, sbr_error *err) must_check;
/* installer_words.c: adds to `reason` what an installer said, because a session that did not begin
 * has no result with it. */
void installer_words_add(struct session *s, const sbr_result *result);
/* Ends the run at once; what is known afterwards is `reason`. */
void supervisor_lose(struct session *s, const char *reason);
/* What `create` answers. */
json_t *supervisor_describe_start(const struct session *s, const char *startup);
/* Writes session.json. */
void supervisor_note(const struct session *s);
const char *supervisor_state_name(const struct session *s);
/* Nothing runs: begins the next waiting cell, if there is one, else the idle time. */
void supervisor_go_on(struct session *s);
/* To the client that asked for a restart, if one did; NULL: the kernel is ready. */
void supervisor_answer_restart(struct session *s, const sbr_error *err);

/* kernel_words.c */
/* One frame of a kernel; false: no kernel says that. */
bool kernel_words_handle(struct kernel *k, const struct frame *frame);

/* supervisor_state.c */
/* The kernel's answer to a checkpoint or a rollback. */
void supervisor_answer_state(struct session *s, struct connection *c, const struct frame *frame,
                             const json_t *payload);
/* True while a recorded cell runs; false once all have, and the client knows. */
bool supervisor_replays(struct session *s);
/* The run ended before all were executed. */
void supervisor_replay_failed(struct session *s);

/* supervisor_start.c */
/* Makes a session and its process; returns once the kernel is ready.  *ret is JSON, which the
 * caller frees. */
int supervisor_create(const sbr_request *req, const struct session_bounds *bounds, char **ret,
                      sbr_error *err) must_check;

/* start_answer.c */
#define START_ANSWER_MAX 65536
/* The caller gives it back. */
int start_answer_read(const char *text, size_t len, json_t **ret, sbr_error *err) must_check;
/* Waits for it, but not for ever; *ret is its text. */
int start_answer_await(int fd, char **ret, sbr_error *err) must_check;

/* second_kernel.c */
/* The kernel of that language, which is started when there is none yet; NULL: the session's own.
 * Cells can be sent to it at once. */
int second_kernel_get(struct session *s, const struct language *language, struct kernel **ret,
                      sbr_error *err) must_check;
/* The same without a start; NULL: there is none. */
struct kernel *second_kernel_find(struct session *s, const struct language *language);
/* Ends it, and what waits for it, but for its cell; *ret says why.  The session goes on. */
void second_kernel_end(struct kernel *k, const char *reason, sbr_error *ret);
/* The language of that name, if it has sessions; *ret NULL: the session's own. */
int second_kernel_language(const struct session *s, const char *name, const struct language **ret,
                           sbr_error *err) must_check;
/* One that is ready. */
json_t *second_kernel_describe(const struct kernel *k);
/* Names of the languages whose kernels run besides the session's own. */
json_t *second_kernel_names(const struct session *s);

/* kernel_channel.c */
/* Places for kernels that do not run yet. */
void kernel_init_all(struct session *s);
void kernel_channel_open(struct kernel *k, int fd);
void kernel_channel_close(struct kernel *k);
/* Whether nothing is on the way to it any more. */
bool kernel_has_read(const struct kernel *k);
/* Whether it said so when it was ready. */
bool kernel_can(const struct kernel *k, const char *what);
/* Stops everything inside while nothing is wanted, and lets it go on. */
void kernel_freeze(struct session *s, bool freeze);
/* Sends a frame, or as much of it as the kernel takes now and the rest later. */
void kernel_send(struct kernel *k, const char *word, uint64_t number, const char *arg,
                 const char *payload, size_t len);
/* A frame without a payload, and two file descriptors with it; false: the kernel takes none now. */
bool kernel_send_pipes(struct kernel *k, const char *word, uint64_t number, const int fds[2]);

/* cell.c */
/* Takes the code over. */
void cell_begin(struct session *s, struct connection *client, struct cell_request *request);
void cell_output(struct session *s, int stream, const char *data, size_t len);
void cell_done(struct kernel *k, const struct frame *frame);
/* The kernel of the cell has ended, and the session goes on. */
void cell_without_kernel(struct session *s, const char *reason);
/* Interrupts the cell, and ends the session when that does not help. */
void cell_stop_it(struct session *s, enum cell_stop why);
/* One that was stopped is ended soon, however long the grace is that its session was given. */
void cell_end_soon(struct session *s);
/* The kernel's run is over; `result` is NULL when it failed. */
void cell_lost(struct session *s, const sbr_result *result);

/* Its time stands still, or goes on. */
void cell_hold_time(struct session *s, bool hold);

/* cell_input.c */
void cell_input_asked(struct kernel *k, const struct frame *frame);
/* A line of the client: "text", or the end of the input. */
void cell_input_given(struct session *s, struct connection *c, const json_t *line);
/* The client of the cell is there no more. */
void cell_input_left(struct session *s);

/* cell_display.c */
void cell_display_begin(struct cell *cell);
void cell_display(struct kernel *k, const struct frame *frame);
/* As members of the result. */
void cell_display_write(const struct cell *cell, struct buf *out);

/* cell_slot.c */
/* True: a cell may begin; false: the engine is asked, and go_on is called when it has answered. */
bool cell_slot_take(struct session *s);
/* The cell has ended, or there is none any more. */
void cell_slot_give_back(struct session *s);
/* The session is idle for long: ends the connection to the engine, too. */
void cell_slot_leave(struct session *s);

/* cell_result.c */
struct cell_end {
    enum sbr_verdict verdict;
    int exit_code, signal;
    const char *session; /* "kept", "lost" */
    const char *explanation;
};
/* The JSON of the cell's result; the caller frees it. */
char *cell_result(struct session *s, const struct cell_end *end);

/* connection_lines.c */
int connection_listen(struct session *s, sbr_error *err) must_check;
/* Adds a line to what the client gets.  The program is held up while the client of its cell reads
 * too slowly. */
void connection_send(struct session *s, struct connection *c, const char *text, size_t len);
/* What the program has written is taken again: its cell ends, or its client has left. */
void connection_let_output_go(struct session *s);
/* The file descriptors that came with its lines; false when that are not so many. */
#define CONNECTION_GIVEN 4
bool connection_take_given(struct connection *c, int ret[CONNECTION_GIVEN]);
/* The session ends with this client. */
void connection_hold(struct connection *c);
/* The client interrupts what it asked for; true: that is the cell which runs. */
bool connection_interrupt(struct connection *c);
/* Keeps the code until nothing else runs. */
void connection_wait(struct connection *c, struct cell_request *request);
/* Keeps a line until no question is open; false: it keeps one already. */
bool connection_defer(struct connection *c, const json_t *line);
/* No question is open: handles the lines that were kept. */
void connection_resume_lines(struct session *s);
/* The first client that waits, and what it wants; NULL: none does.  `ret` may be NULL. */
struct connection *connection_waiting(struct session *s, struct cell_request **ret);
/* The same, and it waits no longer. */
struct connection *connection_next(struct session *s, struct cell_request *ret);
/* To every client. */
void connection_tell_all(struct session *s, const char *text);
void connection_write_all(struct session *s);
void connection_close_all(struct session *s);

/* connection_answers.c */
void connection_answer(struct session *s, struct connection *c, json_t *take_answer);
/* The kernel's answer, whose data is JSON already. */
void connection_answer_text(struct session *s, struct connection *c, const char *status,
                            const char *data, size_t len);
void connection_error(struct session *s, struct connection *c, const sbr_error *err);
/* Its line, with a newline; NULL without memory. */
char *connection_error_line(const sbr_error *err);

/* operations.c */
/* One line of a client. */
void operation_handle(struct session *s, struct connection *c, const char *line, size_t len);

#endif
