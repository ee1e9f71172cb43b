/* Trees and kept changes through the library: library_trees PROJECT [degraded].  Prints what goes
 * wrong. */
#include <sandboxrun.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s (%s)\n", __LINE__, #condition, err.message);                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static sbr_error err;
static int degraded;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ASSERT(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int reads(const char *path, const char *text)
{
    char found[100] = "";
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(found, 1, sizeof(found) - 1, file) : 0;

    if (file)
        fclose(file);
    return file && n == strlen(text) && memcmp(found, text, n) == 0;
}

static sbr_request *new_request(const char *script)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    sbr_request *req = NULL;

    ASSERT(sbr_request_new(NULL, NULL, &req, &err) == 0);
    ASSERT(sbr_request_set_argv(req, argv) == 0);
    sbr_request_allow_degraded(req, degraded);
    return req;
}

static void refuse_what_is_wrong(void)
{
    sbr_request *req = new_request("true");

    ASSERT(sbr_request_set_project(req, "relative") == SBR_E_INVALID);
    ASSERT(sbr_request_set_project(NULL, "/") == SBR_E_INVALID);
    ASSERT(sbr_request_set_program(req, "/absolute") == SBR_E_INVALID);
    ASSERT(sbr_request_set_workspace(req, "a/b") == SBR_E_INVALID);
    ASSERT(sbr_request_add_output(req, "*.png:relative") == SBR_E_INVALID);
    ASSERT(sbr_request_add_exclude(req, "") == SBR_E_INVALID);
    ASSERT(strstr(sbr_request_error(req)->message, "pattern"));
    ASSERT(sbr_request_add_include(req, NULL) == SBR_E_INVALID);
    ASSERT(sbr_request_allow_commands(req, NULL) == SBR_E_INVALID);
    ASSERT(sbr_request_add_volume(req, "/a:/proc") == SBR_E_INVALID);
    ASSERT(sbr_request_add_volume(req, "/a:/b:rx") == SBR_E_INVALID);
    ASSERT(sbr_request_set_changes(req, 8) == SBR_E_INVALID);
    ASSERT(sbr_changes_apply(NULL, NULL, NULL, NULL, &err) == SBR_E_INVALID);
    ASSERT(sbr_changes_apply("no-such-id", NULL, NULL, NULL, &err) < 0);
    ASSERT(sbr_changes_drop("no-such-id", NULL) < 0);
    ASSERT(sbr_result_changes_id(NULL) == NULL);
    sbr_request_free(req);
}

/* The id of the changes that a script made in the project. */
static void keep(sbr_runtime *rt, const char *project, const char *script, char *id, size_t size)
{
    sbr_request *req = new_request(script);
    sbr_result *result = NULL;
    char *json;

    ASSERT(sbr_request_set_project(req, project) == 0);
    ASSERT(sbr_request_set_changes(req, SBR_CHANGES_DIFF | SBR_CHANGES_KEEP) == 0);
    ASSERT(sbr_run(rt, req, &result, &err) == 0);
    ASSERT(sbr_result_report(result)->exit_code == 0 && sbr_result_changes_id(result));
    snprintf(id, size, "%s", sbr_result_changes_id(result));
    json = sbr_result_to_json(result);
    ASSERT(json && strstr(json, "\"modified\"") && strstr(json, id));
    free(json);
    sbr_result_free(result);
    sbr_request_free(req);
}

/* What is left out is empty, except for what is included. */
static void leave_out(sbr_runtime *rt, const char *project)
{
    sbr_request *req = new_request("cat file .env");
    char secret[1000], file[1000], *json;
    sbr_result *result = NULL;

    snprintf(file, sizeof(file), "%s/file", project);
    snprintf(secret, sizeof(secret), "%s/.env", project);
    write_text(file, "hidden\n");
    write_text(secret, "shown\n");
    ASSERT(sbr_request_set_project(req, project) == 0);
    ASSERT(sbr_request_add_exclude(req, "fil?") == 0 && sbr_request_add_include(req, ".env") == 0);
    ASSERT(sbr_request_allow_commands(req, "cat") == 0);
    ASSERT(sbr_run(rt, req, &result, &err) == 0);
    ASSERT(!strcmp(sbr_result_report(result)->out, "shown\n"));
    json = sbr_result_to_json(result);
    ASSERT(json && strstr(json, "\"excluded\":[\"/work/file\"]"));
    free(json);
    sbr_result_free(result);
    sbr_request_free(req);
    ASSERT(unlink(secret) == 0);
}

static void apply_and_undo(sbr_runtime *rt, const char *project)
{
    static const char *const force[] = { "file", NULL };
    char id[100], file[1000], *report = NULL;

    snprintf(file, sizeof(file), "%s/file", project);
    write_text(file, "old\n");
    keep(rt, project, "echo new > file", id, sizeof(id));
    ASSERT(reads(file, "old\n"));
    ASSERT(sbr_changes_apply(id, NULL, NULL, &report, &err) == 0);
    ASSERT(reads(file, "new\n") && report && strstr(report, "\"applied\""));
    free(report);
    ASSERT(sbr_changes_undo(id, NULL, NULL, &err) == 0);
    ASSERT(reads(file, "old\n"));
    write_text(file, "changed meanwhile\n");
    ASSERT(sbr_changes_apply(id, NULL, NULL, &report, &err) == SBR_E_DENIED);
    ASSERT(reads(file, "changed meanwhile\n") && report && strstr(report, "\"file\""));
    free(report);
    ASSERT(sbr_changes_apply(id, force, force, NULL, NULL) == 0);
    ASSERT(reads(file, "new\n"));
    ASSERT(sbr_changes_drop(id, &err) == 0);
    ASSERT(sbr_changes_apply(id, NULL, NULL, &report, &err) < 0 && !report);
}

int main(int argc, char **argv)
{
    sbr_runtime *rt = NULL;

    degraded = argc > 2;
    ASSERT(argc > 1 && sbr_runtime_open(NULL, &rt, &err) == 0);
    refuse_what_is_wrong();
    leave_out(rt, argv[1]);
    apply_and_undo(rt, argv[1]);
    sbr_runtime_close(rt);
    return 0;
}
