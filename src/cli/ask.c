#include "cli/ask.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/save.h"
#include "base/scope.h"
#include "base/text.h"
#include "lib/runner.h"

#define LOOK_MS 250
#define READING_US 500000 /* before the letters are shown */
#define MOST_TYPED 8      /* bytes at once that may be keys */
#define ESCAPE 0x1b
#define ONCE '1'
#define FOR_THIS_RUN '2'
#define ALWAYS '3'
#define KEPT_MAX ((size_t)1 << 20) /* of the file of hosts */

/* For tests that show what each rule of ask.h prevents. */
static const char *left_out(void)
{
#ifdef SBR_TEST_HOOKS
    return getenv("SANDBOX_RUN_TEST_WITHOUT");
#else
    return NULL;
#endif
}

static sbr_job *job_of(const struct ask *ask)
{
    return *ask->tty->job;
}

static void set_stage(struct ask *ask, enum ask_stage stage)
{
    ask->stage = stage;
    ask->since_us = clock_now_us();
}

static bool is_same_host(const struct host_rule *a, const struct host_rule *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->port != b->port)
        return false;
    return a->kind == HOST_NETWORK
               ? a->prefix == b->prefix && address_equal(&a->network, &b->network)
               : !strcmp(a->name, b->name);
}

/* Refused before, or asked at this moment. */
static bool is_known(const struct ask *ask, const struct host_rule *rule)
{
    for (size_t i = 0; i < ask->n; i++)
        if (ask->questions[i].answer != ASK_ALLOWED && is_same_host(&ask->questions[i].rule, rule))
            return true;
    return ask->no_more;
}

static void refuse(struct ask *ask, struct ask_question *q)
{
    sbr_error ignored;

    q->answer = ASK_REFUSED;
    if (q->waits) /* else it waits until its time is over, and is refused then */
        (void)!runner_decide(job_of(ask), EGRESS_REFUSE, &q->rule, &ignored);
}

/* What another rule would allow, and nothing else, is asked. */
static void add_question(void *context, const struct denial *one)
{
    static const char option[] = "--allow-host ";
    struct ask *ask = context;
    struct ask_question *q = &ask->questions[ask->n];
    sbr_error ignored;

    if (one->source != DENIAL_BY_RULE || strncmp(one->remedy, option, sizeof(option) - 1) != 0 ||
        ask->n == ARRAY_LEN(ask->questions) ||
        host_rule_parse(one->remedy + sizeof(option) - 1, &q->rule, &ignored) < 0 ||
        is_known(ask, &q->rule))
        return;
    snprintf(q->why, sizeof(q->why), "%s", one->rule);
    q->until_us = clock_now_us() + (uint64_t)ASK_SECONDS * 1000000;
    q->answer = ASK_OPEN;
    q->said = false;
    q->waits = ask->reads_waiting;
    ask->n++;
}

static void read_refusals(struct ask *ask)
{
    struct denials new = { 0 };

    struct denials waiting = { 0 };

    ask->asked = runner_asked(job_of(ask), ask->asked, &waiting);
    ask->reads_waiting = true;
    for (size_t i = 0; i < waiting.n; i++)
        add_question(ask, &waiting.items[i]);
    denials_done(&waiting);
    ask->reads_waiting = false;
    ask->seen = runner_refusals(job_of(ask), ask->seen, &new);
    for (size_t i = 0; i < new.n; i++)
        add_question(ask, &new.items[i]);
    denials_done(&new);
}

/* A question that nobody answers is answered, and so is one that `--grant` answered elsewhere. */
static void expire(struct ask *ask)
{
    uint64_t now = clock_now_us();

    for (size_t i = 0; i < ask->n; i++) {
        struct ask_question *q = &ask->questions[i];

        if (q->answer == ASK_OPEN && runner_granted(job_of(ask), &q->rule))
            q->answer = ASK_ALLOWED;
        else if (q->answer == ASK_OPEN && q->until_us <= now)
            refuse(ask, q);
    }
}

/* The oldest that is open, and how many are. */
static struct ask_question *next_question(struct ask *ask, size_t *ret_open)
{
    struct ask_question *first = NULL;

    *ret_open = 0;
    for (size_t i = ask->n; i-- > 0;) {
        if (ask->questions[i].answer != ASK_OPEN)
            continue;
        first = &ask->questions[i];
        ++*ret_open;
    }
    return first;
}

static void draw_code(struct ask *ask)
{
    static const char letters[] = "bcdfghjkmprstvwxyz";
    unsigned char chance[ASK_CODE] = { 0 };

    if (plan_list_has(left_out(), "ask-letters")) {
        memset(ask->code, 'y', ASK_CODE);
        return;
    }
    if (getrandom(chance, sizeof(chance), 0) != sizeof(chance))
        return; /* the last letters stay; at first there are none, and nothing is allowed */
    for (size_t i = 0; i < ASK_CODE; i++)
        ask->code[i] = letters[chance[i] % (sizeof(letters) - 1)];
}

/* Keys that were typed before the letters are seen are dropped. */
static void show(struct ask *ask, bool first)
{
    draw_code(ask);
    ask->typed = 0;
    ask->mistyped = !first;
    set_stage(ask, plan_list_has(left_out(), "ask-letters") ? ASK_LISTENS : ASK_SHOWS);
    if (first)
        ask_screen_open(ask);
    else
        ask_screen_draw(ask);
}

static void leave(struct ask *ask)
{
    bool was_shown = ask->stage > ASK_OPENS;

    if (ask->stage == ASK_WATCHES)
        return;
    if (was_shown)
        ask_screen_close(ask);
    ask->now = NULL;
    set_stage(ask, ASK_WATCHES);
    runner_pause(job_of(ask), false);
    (void)sbr_job_hold_output(job_of(ask), 0);
    if (was_shown)
        runner_signal(job_of(ask), SIGWINCH); /* the screen has to be drawn again */
}

static void open_question(struct ask *ask, struct ask_question *q)
{
    ask->now = q;
    set_stage(ask, ASK_OPENS);
    if (!plan_list_has(left_out(), "ask-hold")) {
        runner_pause(job_of(ask), true);
        (void)sbr_job_hold_output(job_of(ask), 1);
    }
    ask->calls->look(ask);
}

static int make_dir(const char *file, sbr_error *err)
{
    scoped_free char *path = strdup(file);
    char *slash = path ? strrchr(path, '/') : NULL;
    scoped_fd int dir = -1;

    if (!slash || slash == path)
        return 0;
    *slash = '\0';
    dir = save_dir_open(path, NULL, true, err);
    return dir < 0 ? err->code : 0;
}

/* One line more of the file. */
static int keep(const struct ask *ask, const struct host_rule *rule, sbr_error *err)
{
    scoped_save_file struct save_file file = SAVE_FILE_NONE;
    scoped_free char *text = NULL;
    scoped_free char *whole = NULL;
    size_t len = 0;

    if (make_dir(ask->hosts, err) < 0 || save_file_open(&file, ask->hosts, NULL, err) < 0 ||
        (access(ask->hosts, F_OK) == 0 && save_file_read(&file, KEPT_MAX, &text, &len, err) < 0))
        return err->code;
    whole = text_format("%s%s%s\n", text ? text : "", len && text[len - 1] != '\n' ? "\n" : "",
                        rule->text);
    return whole ? save_file_write(&file, whole, strlen(whole), err) : err_set_oom(err, "agent");
}

static void allow(struct ask *ask, char figure)
{
    struct ask_question *q = ask->now;
    enum egress_order order = figure == ONCE ? EGRESS_ALLOW_ONCE : EGRESS_ALLOW;

    ask->kept = false;
    if (runner_decide(job_of(ask), order, &q->rule, &ask->err) == 0) {
        q->answer = ASK_ALLOWED;
        ask->kept = true;
        if (figure != ALWAYS || keep(ask, &q->rule, &ask->err) == 0) {
            leave(ask);
            return;
        }
    } else {
        refuse(ask, q);
    }
    set_stage(ask, ASK_REPORTS);
    ask_screen_draw(ask);
}

static void answer_no(struct ask *ask, bool to_all)
{
    const struct host_rule rule = ask->now->rule;
    sbr_error ignored;

    refuse(ask, ask->now);
    ask->no_more = to_all;
    for (size_t i = 0; to_all && i < ask->n; i++)
        if (ask->questions[i].answer == ASK_OPEN)
            refuse(ask, &ask->questions[i]);
    if (to_all)
        (void)!runner_decide(job_of(ask), EGRESS_REFUSE_ALL, &rule, &ignored);
    leave(ask);
}

/* Behind the letters. */
static bool is_figure(const struct ask *ask, char key)
{
    return key == FOR_THIS_RUN || (key == ONCE && ask->now->waits) ||
           (key == ALWAYS && ask->hosts[0]);
}

/* True: the rest of what came with it is no answer. */
static bool answer_by(struct ask *ask, char key)
{
    if (key == ESCAPE || key == ASK_KEY) {
        leave(ask);
    } else if (key == 'n' || key == 'q') {
        answer_no(ask, key == 'q');
    } else if (ask->typed == ASK_CODE && is_figure(ask, key)) {
        allow(ask, key);
    } else if (!ask->code[ask->typed] || key != ask->code[ask->typed]) {
        show(ask, false); /* with other letters: trying all of them does not help */
    } else {
        ask->typed++;
        return false;
    }
    return true;
}

static size_t keys(struct ask *ask, char *data, size_t len)
{
    struct ask_question *q;
    size_t n_open;

    if (ask->stage == ASK_WATCHES) {
        q = next_question(ask, &n_open);
        if (!q || !ask->tty->raw || (len != 1 && !plan_list_has(left_out(), "ask-alone")) ||
            data[0] != ASK_KEY)
            return len;
        open_question(ask, q);
        data++;
        len--;
    }
    if (ask->stage == ASK_REPORTS)
        leave(ask);
    for (size_t i = 0; ask->stage == ASK_LISTENS && i < len && len <= MOST_TYPED; i++)
        if (answer_by(ask, data[i]))
            break;
    return 0;
}

/* The terminal is the program's; ours is the line at its top. */
static void watch(struct ask *ask)
{
    size_t n_open;
    struct ask_question *q = next_question(ask, &n_open);

    if (!ask->tty->raw || !user_tty_is_ours(ask->tty) || !runner_output_is_idle(job_of(ask)))
        return;
    if (q)
        ask_screen_notice(ask, q, n_open);
    else if (ask_screen_clear_notice(ask))
        runner_signal(job_of(ask), SIGWINCH);
}

static void look_at_question(struct ask *ask)
{
    if (ask->now->answer != ASK_OPEN && ask->stage != ASK_REPORTS) {
        leave(ask); /* its time is over */
    } else if (ask->stage == ASK_OPENS && runner_output_is_idle(job_of(ask))) {
        show(ask, true);
    } else if (ask->stage == ASK_SHOWS && clock_now_us() - ask->since_us >= READING_US) {
        set_stage(ask, ASK_LISTENS);
        ask_screen_draw(ask);
    } else if (ask->stage != ASK_OPENS && ask_screen_was_resized(ask)) {
        ask_screen_draw(ask);
    }
}

static void look(struct ask *ask)
{
    uint64_t times;

    (void)!read(ask->timer_fd, &times, sizeof(times));
    if (!job_of(ask))
        return;
    read_refusals(ask);
    expire(ask);
    if (ask->stage == ASK_WATCHES)
        watch(ask);
    else
        look_at_question(ask);
}

int ask_init(struct ask *ask, sbr_error *err)
{
    static const struct ask_calls calls = { .keys = keys, .look = look, .leave = leave };
    const struct timespec every = { .tv_nsec = LOOK_MS * 1000000L };

    *ask = (struct ask){ .calls = &calls };
    ask->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (ask->timer_fd < 0 ||
        timerfd_settime(ask->timer_fd, 0, &(struct itimerspec){ every, every }, NULL) < 0)
        return err_set_errno(err, "agent", "cannot make a timer");
    return 0;
}

void ask_done(struct ask *ask)
{
    close(ask->timer_fd);
}
