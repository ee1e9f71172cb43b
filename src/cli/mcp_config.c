#include "cli/mcp_config.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

#define OPTION "--print-config"
#define SERVER "sandbox-run"
#define WORDS_MAX ((size_t)1 << 20)

/* Each takes the list of arguments over. */
typedef json_t *shape_fn(const char *program, json_t *args);

static json_t *usual(const char *program, json_t *args)
{
    return json_pack("{s:{s:{s:s, s:o}}}", "mcpServers", SERVER, "command", program, "args", args);
}

static json_t *vscode(const char *program, json_t *args)
{
    return json_pack("{s:{s:{s:s, s:s, s:o}}}", "servers", SERVER, "type", "stdio", "command",
                     program, "args", args);
}

static json_t *zed(const char *program, json_t *args)
{
    return json_pack("{s:{s:{s:s, s:s, s:o, s:{}}}}", "context_servers", SERVER, "source", "custom",
                     "command", program, "args", args, "env");
}

static json_t *opencode(const char *program, json_t *args)
{
    json_array_insert_new(args, 0, json_string(program));
    return json_pack("{s:{s:{s:s, s:o, s:b}}}", "mcp", SERVER, "type", "local", "command", args,
                     "enabled", 1);
}

/* clang-format off */
static const struct client {
    const char *name, *file;
    shape_fn *shape; /* NULL: TOML */
} clients[] = {
    { "claude-code",    ".mcp.json of the project",                  usual    },
    { "claude-desktop", "claude_desktop_config.json",                usual    },
    { "cline",          "cline_mcp_settings.json",                   usual    },
    { "codex",          "~/.codex/config.toml",                      NULL     },
    { "cursor",         ".cursor/mcp.json, or ~/.cursor/mcp.json",   usual    },
    { "gemini",         "~/.gemini/settings.json",                   usual    },
    { "opencode",       "opencode.json",                             opencode },
    { "vscode",         ".vscode/mcp.json",                          vscode   },
    { "windsurf",       "~/.codeium/windsurf/mcp_config.json",       usual    },
    { "zed",            "settings.json",                             zed      },
};
/* clang-format on */

const char *mcp_config_name(size_t i)
{
    return i < ARRAY_LEN(clients) ? clients[i].name : NULL;
}

static const struct client *find(const char *name, sbr_error *err)
{
    const char *names[ARRAY_LEN(clients)], *near;

    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        if (!strcmp(clients[i].name, name))
            return &clients[i];
        names[i] = clients[i].name;
    }
    near = text_nearest(name, names, ARRAY_LEN(clients));
    err_set(err, SBR_E_NOT_FOUND, "options",
            OPTION ": no client '%.40s' is known%s%s; claude-code, cursor, vscode and others are, "
                   "see `sandbox-run mcp --help`",
            name, near ? "; did you mean " : "", near ? near : "");
    return NULL;
}

/* The words that this process was started with, without the program and the option itself. */
static json_t *own_words(sbr_error *err)
{
    scoped_fd int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    scoped_free char *words = NULL;
    json_t *args = json_array();
    size_t len = 0;

    if (fd < 0 || fd_read_text(fd, WORDS_MAX, &words, &len, err) < 0) {
        json_decref(args);
        err_set_errno(err, "mcp", "cannot read the own command line");
        return NULL;
    }
    for (size_t at = strlen(words) + 1; at < len; at += strlen(words + at) + 1) {
        if (!strcmp(words + at, OPTION))
            at += strlen(words + at) + 1;
        else if (strncmp(words + at, OPTION "=", sizeof(OPTION)) != 0)
            json_array_append_new(args, json_string(words + at));
    }
    return args;
}

/* The lean program beside this one. */
static int own_program(char *path, size_t size, sbr_error *err)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    if (n < 0)
        return err_set_errno(err, "mcp", "cannot find the own program");
    path[n] = '\0';
    slash = strrchr(path, '/');
    snprintf(slash, size - (size_t)(slash - path), "/sandbox-run");
    return 0;
}

static void print_toml(const char *program, json_t *args)
{
    scoped_free char *list = json_dumps(args, 0);
    json_t *text = json_string(program);
    scoped_free char *quoted = json_dumps(text, JSON_ENCODE_ANY);

    printf("[mcp_servers." SERVER "]\ncommand = %s\nargs = %s\n", quoted ? quoted : "", list);
    json_decref(text);
    json_decref(args);
}

int mcp_config_print(const char *name, sbr_error *err)
{
    const struct client *client = find(name, err);
    char program[4096];
    json_t *args, *settings;

    if (!client || own_program(program, sizeof(program), err) < 0)
        return err->code;
    args = own_words(err);
    if (!args)
        return err->code;
    fprintf(stderr, "for %s\n", client->file);
    if (!client->shape) {
        print_toml(program, args);
        return 0;
    }
    settings = client->shape(program, args);
    json_dumpf(settings, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(settings);
    return 0;
}
