#include "http/joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/text.h"
#include "changes/state_dir.h"
#include "http/response_text.h"

#define STATE_JOBS "gateway-jobs"
#define FILE_MAX ((off_t)4 << 30)
#define PAGES_MAX "524288" /* of 4 KiB */
#define BUSY_MS 5000       /* the gateway before may still be ending */
#define APPLICATION "1396855405"
#define FORMAT "1"
#define SEAL_LEN (SHA256_HEX_SIZE - 1)

/* clang-format off */
static const char table[] =
    "CREATE TABLE jobs(id TEXT PRIMARY KEY NOT NULL, tenant TEXT NOT NULL, token TEXT NOT NULL, "
    "key TEXT NOT NULL, fingerprint TEXT NOT NULL, language TEXT NOT NULL, dialect TEXT NOT NULL, "
    "batch TEXT NOT NULL, place INTEGER NOT NULL, places INTEGER NOT NULL, "
    "created INTEGER NOT NULL, seal TEXT NOT NULL, state INTEGER NOT NULL, "
    "ended INTEGER NOT NULL, events INTEGER NOT NULL, is_error INTEGER NOT NULL, "
    "outcome TEXT NOT NULL, output TEXT NOT NULL, request BLOB, note BLOB, result BLOB)";
static const char settings[] = /* the first ones must come before the file is looked at */
    "PRAGMA locking_mode=EXCLUSIVE;" /* and so the log's index is memory of ours, not a file */
    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
    "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
    "PRAGMA secure_delete=ON; PRAGMA journal_size_limit=1048576;"
    "PRAGMA max_page_count=" PAGES_MAX;
static const char stamp[] = "PRAGMA application_id=" APPLICATION "; PRAGMA user_version=" FORMAT;
/* clang-format on */

enum statement { ACCEPT, MARK, END, DROP_NOTE, FORGET, DROP_ROW, EACH, N_STATEMENTS };

#define COLUMNS                                                                                    \
    "id, tenant, token, key, fingerprint, language, dialect, batch, place, places, created, "      \
    "seal, state, ended, events, is_error, outcome, output, request, note, result"

static const char *const texts[N_STATEMENTS] = {
    [ACCEPT] = "INSERT INTO jobs(" COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
               "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
    [MARK] = "UPDATE jobs SET state=1, request=NULL WHERE id=?1 AND state=0",
    [END] =
        "INSERT INTO jobs(" COLUMNS ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
        "?12, ?13, ?14, ?15, ?16, ?17, ?18, NULL, ?20, ?21) ON CONFLICT(id) DO UPDATE SET "
        "state=?13, ended=?14, events=?15, is_error=?16, outcome=?17, output=?18, request=NULL, "
        "note=coalesce(?20, note), result=?21",
    [DROP_NOTE] = "UPDATE jobs SET note=NULL WHERE id=?1",
    [FORGET] = "DELETE FROM jobs WHERE id=?1",
    [DROP_ROW] = "DELETE FROM jobs WHERE rowid=?1",
    [EACH] = "SELECT " COLUMNS ", rowid FROM jobs ORDER BY rowid",
};

struct joblog_store {
    sqlite3 *db;
    sqlite3_stmt *statements[N_STATEMENTS];
    bool damaged; /* a call found that */
};

static int fail(struct joblog_store *store, const char *what, sbr_error *err)
{
    int code = sqlite3_errcode(store->db);

    store->damaged |= code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    return err_set(err, code == SQLITE_BUSY ? SBR_E_BUSY : SBR_E_SYSTEM, "joblog",
                   "cannot %s the record of asynchronous jobs: %s", what,
                   sqlite3_errmsg(store->db));
}

static int execute(struct joblog_store *store, const char *sql)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

/* The first column of the first row as text; "" for none. */
static void ask(struct joblog_store *store, const char *sql, char *buf, size_t size)
{
    sqlite3_stmt *statement = NULL;
    const unsigned char *text = NULL;

    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        text = sqlite3_column_text(statement, 0);
    snprintf(buf, size, "%s", text ? (const char *)text : "");
    (void)sqlite3_finalize(statement);
}

static bool answers(struct joblog_store *store, const char *sql, const char *wanted)
{
    char answer[2048];

    ask(store, sql, answer, sizeof(answer));
    return !strcmp(answer, wanted);
}

/* Our table and nothing else: no trigger, no view, no page that is wrong. */
static bool is_sound(struct joblog_store *store)
{
    return answers(store, "PRAGMA application_id", APPLICATION) &&
           answers(store, "PRAGMA user_version", FORMAT) &&
           answers(store, "SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL", "1") &&
           answers(store, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", table) &&
           answers(store, "PRAGMA integrity_check(1)", "ok");
}

static int prepare(struct joblog_store *store, sbr_error *err)
{
    for (size_t i = 0; i < N_STATEMENTS; i++)
        if (sqlite3_prepare_v3(store->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK)
            return fail(store, "use", err);
    return 0;
}

void joblog_store_close(struct joblog_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < N_STATEMENTS; i++)
        (void)sqlite3_finalize(store->statements[i]);
    (void)sqlite3_close(store->db); /* moves the log into the file */
    free(store);
}

bool joblog_store_is_damaged(const struct joblog_store *store)
{
    return store->damaged;
}

/* 0: it can be used; 1: it is damaged; negative: it cannot be opened. */
static int open_file(const char *path, bool is_new, struct joblog_store **ret, sbr_error *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
    struct joblog_store *store = calloc(1, sizeof(*store));
    int r = 0;

    if (!store)
        return err_set_oom(err, "joblog");
    if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK) {
        r = fail(store, "open", err);
        joblog_store_close(store);
        return r;
    }
    (void)sqlite3_busy_timeout(store->db, BUSY_MS);
    (void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, (int)(2 * JOBLOG_TEXT_MAX));
    if (execute(store, settings) < 0)
        r = fail(store, "open", err) < 0 && store->damaged ? 1 : err->code;
    else if (is_new && (execute(store, table) < 0 || execute(store, stamp) < 0))
        r = fail(store, "make", err);
    else if (!is_sound(store))
        r = 1;
    if (r == 0)
        r = prepare(store, err);
    if (r != 0)
        joblog_store_close(store);
    else
        *ret = store;
    return r;
}

/* 1: it is new and empty; 0: it was there; negative: neither.  SQLite would make it for others to
 * read. */
static int make_file(const struct state_dir *dir, const char *file, sbr_error *err)
{
    scoped_fd int fd =
        openat(dir->fd, file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat about;

    if (fd < 0 || fstat(fd, &about) < 0)
        return state_fail("open the record of asynchronous jobs in", dir->path, err);
    if (!S_ISREG(about.st_mode) || about.st_uid != geteuid() || about.st_mode & 077 ||
        about.st_nlink != 1)
        return err_set(err, SBR_E_DENIED, "joblog",
                       "'%.900s/%s' is no file of ours alone; remove it", dir->path, file);
    return about.st_size == 0;
}

static void set_aside(const struct state_dir *dir, const char *file)
{
    char aside[80], log[80];

    snprintf(aside, sizeof(aside), "%s.damaged", file);
    snprintf(log, sizeof(log), "%s-wal", file);
    (void)renameat(dir->fd, file, dir->fd, aside);
    (void)unlinkat(dir->fd, log, 0);
}

static bool is_too_large(const struct state_dir *dir, const char *file)
{
    struct stat about;

    return fstatat(dir->fd, file, &about, AT_SYMLINK_NOFOLLOW) == 0 && about.st_size > FILE_MAX;
}

static int open_named(const struct state_dir *dir, const char *file, struct joblog_store **ret,
                      bool *ret_aside, sbr_error *err)
{
    scoped_free char *path = text_format("%s/%s", dir->path, file);
    int r = 1, is_new = make_file(dir, file, err);

    if (is_new < 0 || !path)
        return path ? is_new : err_set_oom(err, "joblog");
    if (!is_too_large(dir, file))
        r = open_file(path, is_new, ret, err);
    if (r != 1)
        return r;
    *ret_aside = true;
    set_aside(dir, file);
    r = make_file(dir, file, err);
    if (r >= 0)
        r = open_file(path, true, ret, err);
    return r == 1 ? err_set(err, SBR_E_SYSTEM, "joblog",
                            "cannot make a record of asynchronous jobs in '%.900s'", dir->path)
                  : r;
}

int joblog_store_open(const char *name, struct joblog_store **ret, bool *ret_aside, sbr_error *err)
{
    struct state_dir dir = { .fd = -1 };
    char hex[SHA256_HEX_SIZE], file[32];
    int r;

    *ret_aside = false;
    sha256_hex(name, strlen(name), hex);
    snprintf(file, sizeof(file), "%.16s.db", hex);
    if (state_open(STATE_JOBS, true, &dir, err) < 0)
        return err->code;
    r = open_named(&dir, file, ret, ret_aside, err);
    state_close(&dir);
    return r;
}

/* What a job is: the hash that all its texts are sealed with. */
static void seal_of(const struct joblog_job *job, char hex[SHA256_HEX_SIZE])
{
    const char *const words[] = { job->id,          job->tenant,   job->token_id, job->key,
                                  job->fingerprint, job->language, job->dialect,  job->batch };
    struct sha256 hash;

    sha256_init(&hash);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        sha256_add_text(&hash, words[i]);
    sha256_add_u64(&hash, job->place);
    sha256_add_u64(&hash, job->places);
    sha256_add_u64(&hash, job->created_us);
    sha256_finish_hex(&hash, hex);
}

enum which { REQUEST, NOTE, RESULT };

/* Of one text; that of the result also seals what else the end says. */
static void seal_text(const struct joblog_job *job, const char *seal, enum which which,
                      const struct joblog_text *text, char hex[SHA256_HEX_SIZE])
{
    struct sha256 hash;

    sha256_init(&hash);
    sha256_add_text(&hash, seal);
    sha256_add_u64(&hash, which);
    if (which == RESULT) {
        sha256_add_u64(&hash, job->ended_us);
        sha256_add_u64(&hash, job->events);
        sha256_add_u64(&hash, job->is_error);
        sha256_add_text(&hash, job->outcome);
        sha256_add_text(&hash, job->output_id);
    }
    sha256_add(&hash, text->bytes, text->len);
    sha256_finish_hex(&hash, hex);
}

static int bind_text(sqlite3_stmt *statement, int at, const struct joblog_job *job,
                     const char *seal, enum which which)
{
    const struct joblog_text *const all[] = { &job->request, &job->note, &job->result };
    const struct joblog_text *text = all[which];
    struct joblog_text whole = { .len = text->len };
    char hex[SHA256_HEX_SIZE], *bytes;

    if (!text->bytes && !text->parts)
        return sqlite3_bind_null(statement, at);
    bytes = malloc(SEAL_LEN + text->len + RESPONSE_TEXT_ROOM);
    if (!bytes)
        return SQLITE_NOMEM;
    whole.bytes = bytes + SEAL_LEN;
    if (text->parts)
        response_text_copy(text->parts, bytes + SEAL_LEN);
    else
        memcpy(bytes + SEAL_LEN, text->bytes, text->len);
    seal_text(job, seal, which, &whole, hex);
    memcpy(bytes, hex, SEAL_LEN);
    return sqlite3_bind_blob64(statement, at, bytes, text->len + SEAL_LEN, free);
}

static int step(struct joblog_store *store, enum statement which, sbr_error *err)
{
    sqlite3_stmt *statement = store->statements[which];
    int r = sqlite3_step(statement) == SQLITE_DONE ? 0 : fail(store, "write", err);

    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return r;
}

static int put(struct joblog_store *store, enum statement which, const struct joblog_job *job,
               sbr_error *err)
{
    const char *const words[] = { job->id,          job->tenant,   job->token_id, job->key,
                                  job->fingerprint, job->language, job->dialect,  job->batch };
    const uint64_t numbers[] = { job->place, job->places, job->created_us };
    const uint64_t end[] = { job->state, job->ended_us, job->events, job->is_error };
    sqlite3_stmt *statement = store->statements[which];
    char seal[SHA256_HEX_SIZE];
    int at = 1;

    seal_of(job, seal);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        (void)sqlite3_bind_text(statement, at++, words[i], -1, SQLITE_STATIC);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        (void)sqlite3_bind_int64(statement, at++, (sqlite3_int64)numbers[i]);
    (void)sqlite3_bind_text(statement, at++, seal, -1, SQLITE_TRANSIENT);
    for (size_t i = 0; i < ARRAY_LEN(end); i++)
        (void)sqlite3_bind_int64(statement, at++, (sqlite3_int64)end[i]);
    (void)sqlite3_bind_text(statement, at++, job->outcome, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, at++, job->output_id, -1, SQLITE_STATIC);
    for (int i = REQUEST; i <= RESULT; i++)
        if (!(which == END && i == REQUEST) &&
            bind_text(statement, at + i, job, seal, (enum which)i) != SQLITE_OK) {
            (void)sqlite3_reset(statement);
            (void)sqlite3_clear_bindings(statement);
            return err_set_oom(err, "joblog");
        }
    return step(store, which, err);
}

int joblog_store_begin(struct joblog_store *store, sbr_error *err)
{
    return execute(store, "BEGIN IMMEDIATE") < 0 ? fail(store, "write", err) : 0;
}

int joblog_store_commit(struct joblog_store *store, sbr_error *err)
{
    return execute(store, "COMMIT") < 0 ? fail(store, "write", err) : 0;
}

void joblog_store_roll_back(struct joblog_store *store)
{
    (void)execute(store, "ROLLBACK");
}

int joblog_store_accept(struct joblog_store *store, const struct joblog_job *job, sbr_error *err)
{
    return put(store, ACCEPT, job, err);
}

int joblog_store_end(struct joblog_store *store, const struct joblog_job *job, sbr_error *err)
{
    return put(store, END, job, err);
}

static int change(struct joblog_store *store, enum statement which, const char *id, sbr_error *err)
{
    (void)sqlite3_bind_text(store->statements[which], 1, id, -1, SQLITE_STATIC);
    return step(store, which, err);
}

int joblog_store_mark(struct joblog_store *store, const char *id, sbr_error *err)
{
    if (change(store, MARK, id, err) < 0)
        return err->code;
    return sqlite3_changes(store->db) == 1;
}

int joblog_store_drop_note(struct joblog_store *store, const char *id, sbr_error *err)
{
    return change(store, DROP_NOTE, id, err);
}

int joblog_store_forget(struct joblog_store *store, const char *id, sbr_error *err)
{
    return change(store, FORGET, id, err);
}

void joblog_store_settle(struct joblog_store *store)
{
    (void)execute(store, "PRAGMA incremental_vacuum");
    (void)sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

/* False: it is longer than it can be, or no text. */
static bool take_word(sqlite3_stmt *statement, int at, char *to, size_t size)
{
    const unsigned char *text = sqlite3_column_text(statement, at);
    size_t len = (size_t)sqlite3_column_bytes(statement, at);

    if (!text || len >= size || strlen((const char *)text) != len)
        return false;
    memcpy(to, text, len + 1);
    return true;
}

/* False: its seal is wrong.  The bytes are those of the statement, whose blobs end in no NUL: the
 * copy does, and the caller frees it. */
static bool take_text(sqlite3_stmt *statement, const struct joblog_job *job, const char *seal,
                      enum which which, struct joblog_text *ret)
{
    const char *bytes = sqlite3_column_blob(statement, 18 + (int)which);
    size_t len = (size_t)sqlite3_column_bytes(statement, 18 + (int)which);
    struct joblog_text text;
    char hex[SHA256_HEX_SIZE];

    if (sqlite3_column_type(statement, 18 + (int)which) == SQLITE_NULL)
        return true;
    if (!bytes || len < SEAL_LEN || len - SEAL_LEN > JOBLOG_TEXT_MAX || memchr(bytes, '\0', len))
        return false;
    text = (struct joblog_text){ .bytes = bytes + SEAL_LEN, .len = len - SEAL_LEN };
    seal_text(job, seal, which, &text, hex);
    if (memcmp(hex, bytes, SEAL_LEN) != 0)
        return false;
    text.bytes = strndup(text.bytes, text.len);
    *ret = text;
    return text.bytes != NULL;
}

static bool take_row(sqlite3_stmt *statement, struct joblog_job *job)
{
    struct {
        char *to;
        size_t size;
    } words[] = { { job->id, sizeof(job->id) },
                  { job->tenant, sizeof(job->tenant) },
                  { job->token_id, sizeof(job->token_id) },
                  { job->key, sizeof(job->key) },
                  { job->fingerprint, sizeof(job->fingerprint) },
                  { job->language, sizeof(job->language) },
                  { job->dialect, sizeof(job->dialect) },
                  { job->batch, sizeof(job->batch) } };
    char seal[SHA256_HEX_SIZE], own[SHA256_HEX_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (!take_word(statement, (int)i, words[i].to, words[i].size))
            return false;
    job->place = (unsigned int)sqlite3_column_int64(statement, 8);
    job->places = (unsigned int)sqlite3_column_int64(statement, 9);
    job->created_us = (uint64_t)sqlite3_column_int64(statement, 10);
    seal_of(job, own);
    if (!take_word(statement, 11, seal, sizeof(seal)) || strcmp(seal, own) != 0)
        return false;
    job->state = (enum joblog_state)sqlite3_column_int64(statement, 12);
    job->ended_us = (uint64_t)sqlite3_column_int64(statement, 13);
    job->events = (uint64_t)sqlite3_column_int64(statement, 14);
    job->is_error = sqlite3_column_int64(statement, 15) != 0;
    return take_word(statement, 16, job->outcome, sizeof(job->outcome)) &&
           take_word(statement, 17, job->output_id, sizeof(job->output_id)) &&
           take_text(statement, job, seal, REQUEST, &job->request) &&
           take_text(statement, job, seal, NOTE, &job->note) &&
           take_text(statement, job, seal, RESULT, &job->result) &&
           (job->state == JOBLOG_BEGUN || (job->state == JOBLOG_ACCEPTED && job->request.bytes) ||
            (job->state == JOBLOG_ENDED && job->result.bytes));
}

int joblog_store_each(struct joblog_store *store, joblog_visit *visit, void *context,
                      size_t *ret_damaged, sbr_error *err)
{
    sqlite3_stmt *statement = store->statements[EACH];
    int r;

    *ret_damaged = 0;
    while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
        struct joblog_job job = { .state = JOBLOG_ACCEPTED };

        if (take_row(statement, &job)) {
            visit(context, &job);
        } else {
            ++*ret_damaged;
            (void)sqlite3_bind_int64(store->statements[DROP_ROW], 1,
                                     sqlite3_column_int64(statement, 21));
            (void)!step(store, DROP_ROW, err);
        }
        free((char *)job.request.bytes);
        free((char *)job.note.bytes);
        free((char *)job.result.bytes);
    }
    (void)sqlite3_reset(statement);
    return r == SQLITE_DONE ? 0 : fail(store, "read", err);
}
