/* migrate: SQL that changes a database is tried on a copy of it first, and then applied to it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/present.h"
#include "cli/source.h"
#include "config/audit.h"

#define COPY_MAX ((size_t)256 << 20)
#define SQL_MAX 120000 /* the longest word of a command line that Linux takes is a little more */

struct migrate_options {
    const char *database;
    bool schema_only, yes;
};

/* clang-format off */
static const struct option own_options[] = {
    { 0, "database", "NAME|URL", "which one, as psql takes it",
      OPTION_OWN(struct migrate_options, database) },
    { 0, "schema-only", NULL, "try it on a copy of the tables without their rows",
      OPTION_OWN(struct migrate_options, schema_only) },
    { 'y', "yes", NULL, "apply it without asking, if the try succeeded",
      OPTION_OWN(struct migrate_options, yes) },
    { 0 },
};
/* clang-format on */

/* The server takes both parts and the file between them as one message, which is one transaction.
 * A file that ends the transaction itself could be applied in part, and is refused by the try. */
static const char sql_begin[] =
    "SELECT set_config('sandbox_run.at', txid_current()::text, false);\n";
static const char sql_end[] =
    "\n;\nDO $sandbox_run$ BEGIN IF current_setting('sandbox_run.at') <> txid_current()::text THEN "
    "RAISE EXCEPTION 'the migration ends its transaction itself; leave BEGIN, COMMIT and ROLLBACK "
    "out'; END IF; END $sandbox_run$;";

/* The file goes to the server as it is, by \gexec, as it does later by psql -c: none of psql's own
 * commands in it counts.  One that starts a program here would start it on the host then. */
static const char try_sql[] = "\\set ON_ERROR_STOP on\n"
                              "\\o /dev/null\n"
                              "\\i before.sql\n"
                              "RESET ALL;\n"
                              "\\set migration `cat migration.sql`\n"
                              "SELECT :'migration' \\gexec\n";

struct migration {
    struct options *o;
    const struct migrate_options *own;
    char shown[200]; /* the database, without a password */
    char *sql;       /* as one message */
};

/* A program of the host, whose stdout is `out`; its stderr is ours. */
static int call_host(const char *const *words, int out, sbr_error *err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t child = -1;
    int status = 0, r;

    (void)sigemptyset(&none);
    if (posix_spawnattr_init(&attributes) || posix_spawn_file_actions_init(&files))
        return err_set_oom(err, "migrate");
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (out >= 0)
        (void)posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    errno = posix_spawnp(&child, words[0], &files, &attributes, (char *const *)words, environ);
    r = errno ? err_set_errno(err, "migrate",
                              "cannot start %s, which comes with PostgreSQL's "
                              "client programs",
                              words[0])
              : 0;
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    while (r == 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_set_errno(err, "migrate", "cannot wait for %s", words[0]);
    if (r == 0 && status != 0)
        return err_set(err, SBR_E_SYSTEM, "migrate", "%s failed; what it said stands above",
                       words[0]);
    return r;
}

/* Nothing of the database is changed: pg_dump reads in one snapshot. */
static int copy_database(const struct migration *m, sbr_error *err)
{
    const char *words[] = { "pg_dump", "--no-owner",     "--no-privileges",
                            "-d",      m->own->database, m->own->schema_only ? "-s" : NULL,
                            NULL };
    scoped_fd int fd = memfd_create("copy", MFD_CLOEXEC);
    struct stat st;
    char *copy;
    int r;

    if (fd < 0)
        return err_set_errno(err, "migrate", "cannot make room for the copy");
    if (call_host(words, fd, err) < 0)
        return err->code;
    if (fstat(fd, &st) < 0 || (size_t)st.st_size > COPY_MAX)
        return err_set(err, SBR_E_INVALID, "migrate",
                       "the copy of %s is larger than 256 MiB; --schema-only leaves the rows out",
                       m->shown);
    /* pg_dump writes some lines for an empty database, too. */
    copy = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (copy == MAP_FAILED)
        return err_set_errno(err, "migrate", "cannot read the copy");
    r = request_add_file(m->o->request, "before.sql", copy, (size_t)st.st_size, err);
    munmap(copy, (size_t)st.st_size);
    return r;
}

/* scheme://USER:PASSWORD@HOST becomes scheme://USER@HOST; "password=..." goes, too. */
static void show_without_password(const char *database, char *ret, size_t size)
{
    const char *user = strstr(database, "://"), *at = user ? strchr(user + 3, '@') : NULL;
    const char *colon = at ? memchr(user + 3, ':', (size_t)(at - user - 3)) : NULL;
    const char *word = strstr(database, "password=");

    if (colon)
        snprintf(ret, size, "%.*s%s", (int)(colon - database), database, at);
    else if (word)
        snprintf(ret, size, "%.*s...", (int)(word - database), database);
    else
        snprintf(ret, size, "%s", database);
}

static int read_migration(struct migration *m, const char *path, sbr_error *err)
{
    scoped_free char *text = NULL;
    size_t len = 0;

    if (source_read_path(path, &text, &len, err) < 0)
        return err->code;
    if (len > SQL_MAX || memchr(text, '\0', len))
        return err_set(err, SBR_E_INVALID, "migrate",
                       "'%.200s' is no text of at most %d bytes; split it, or load rows otherwise",
                       path, SQL_MAX);
    m->sql = text_format("%s%.*s%s", sql_begin, (int)len, text, sql_end);
    return m->sql ? 0 : err_set_oom(err, "migrate");
}

static int prepare(struct migration *m, sbr_error *err)
{
    sbr_request *req = m->o->request;

    if (m->o->n_positional != 1 || !m->own->database)
        return err_set(err, SBR_E_INVALID, "migrate",
                       "say `sandbox-run migrate FILE.sql --database NAME`");
    show_without_password(m->own->database, m->shown, sizeof(m->shown));
    if (read_migration(m, m->o->positional[0], err) < 0 ||
        request_set_text(&req->language, "postgres", err) < 0 || copy_database(m, err) < 0 ||
        request_add_file(req, "migration.sql", m->sql, strlen(m->sql), err) < 0)
        return err->code;
    return request_set_code(req, try_sql, sizeof(try_sql) - 1, err);
}

static bool agrees(const struct migration *m)
{
    scoped_fd int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    char line[16] = "";

    if (m->own->yes)
        return true;
    if (terminal < 0 || !isatty(STDERR_FILENO)) {
        fputs("sandbox-run: it succeeded on a copy; --yes applies it where nobody can be asked\n",
              stderr);
        return false;
    }
    fprintf(stderr, "It succeeded on a copy. Apply to production database %s? [y/N] ", m->shown);
    fflush(stderr);
    if (read(terminal, line, sizeof(line) - 1) <= 0)
        fputc('\n', stderr);
    return line[0] == 'y' || line[0] == 'Y';
}

static int apply(const struct migration *m, sbr_error *err)
{
    const char *words[] = {
        "psql",           "-X", "-q",   "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-d",
        m->own->database, "-c", m->sql, NULL
    };
    const struct audit_field fields[] = { { "database", m->shown } };

    if (audit_note_if_wanted("migrate", fields, ARRAY_LEN(fields), err) < 0 ||
        call_host(words, -1, err) < 0)
        return err->code;
    if (!m->o->quiet)
        fprintf(stderr, "sandbox-run: applied to %s, in one transaction\n", m->shown);
    return 0;
}

static int migrate_run(struct options *o)
{
    struct migration m = { .o = o, .own = o->own };
    sbr_error err = { 0 };
    int status =
        prepare(&m, &err) < 0 ? cli_fail(o, &err) : start_request(o, o->positional[0], false);

    if (!err.code && status == 0 && agrees(&m) && apply(&m, &err) < 0)
        status = cli_fail(o, &err);
    free(m.sql);
    return status;
}

const struct command cmd_migrate = {
    .name = "migrate",
    .usage = "FILE.sql --database NAME|URL [OPTIONS]",
    .help = "try SQL on a copy of a PostgreSQL database, then apply it in one transaction",
    .examples = "Examples:\n"
                "  sandbox-run migrate add-index.sql --database shop\n"
                "  sandbox-run migrate 7.sql --database postgres://me@db/shop --schema-only\n\n"
                "pg_dump copies the database, and FILE runs on the copy in a sandbox.  Only when\n"
                "it succeeds there, you are asked; psql then sends the same text to the database\n"
                "as one transaction.  psql's own commands (\\i, \\!) are not part of it.\n",
    .options =
        (const struct option *const[]){ own_options, options_isolation, options_output,
                                        options_config, options_look, options_general, NULL },
    .limits = LIMITS_ALL,
    .own_size = sizeof(struct migrate_options),
    .run = migrate_run,
};
