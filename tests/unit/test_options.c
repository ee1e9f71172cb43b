#include "cli/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/changesets.h"
#include "cli/cli.h"
#include "unit.h"

#define MAX_WORDS 12

static struct options o;

/* Cuts a line into words at its blanks; good until the next call. */
static char **words_of(const char *line)
{
    static char copy[200], *words[MAX_WORDS + 1];
    size_t n = 0;

    assert_true(strlen(line) < sizeof(copy));
    memcpy(copy, line, strlen(line) + 1);
    for (char *rest = copy, *word; (word = strsep(&rest, " "));)
        if (*word && n < MAX_WORDS)
            words[n++] = word;
    words[n] = NULL;
    return words;
}

static int parse(const char *line, const struct command *command, sbr_error *err)
{
    options_done(&o);
    o = (struct options){ .command = command };
    return options_parse(&o, words_of(line), err);
}

static void parse_good(const char *line, const struct command *command)
{
    sbr_error err;

    if (parse(line, command, &err) != 0)
        fail_msg("'%s': %s", line, err.message);
}

static int free_options(void **state)
{
    (void)state;
    options_done(&o);
    o = (struct options){ 0 };
    return 0;
}

static void no_words_ask_for_nothing(void **state)
{
    (void)state;
    parse_good("", &cmd_run);
    assert_int_equal(o.n_positional, 0);
    assert_null(o.rest);
    assert_null(o.lang);
    assert_false(o.json || o.text || o.quiet || o.raw || o.help || o.version || o.no_color);
    assert_int_equal(o.request->require, TIER_CONTAINER);
}

static void a_value_follows_its_option_in_every_usual_form(void **state)
{
    static const char *const lines[] = { "--lang python", "--lang=python", "-l python",  "-lpython",
                                         "-jl python",    "-qjlpython",    "x -l python" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        parse_good(lines[i], &cmd_run);
        assert_string_equal(o.lang, "python");
    }
    parse_good("--code=a=b --file one -f two", &cmd_run);
    assert_string_equal(o.code, "a=b");
    assert_int_equal(o.files.n, 2);
    assert_string_equal(o.files.items[1], "two");
    parse_good("--code=", &cmd_run);
    assert_string_equal(o.code, "");
    parse_good("--code --lang", &cmd_run);
    assert_string_equal(o.code, "--lang");
}

static void switches_are_set(void **state)
{
    (void)state;
    parse_good("-jq --raw --no-color --verbose --verbose", &cmd_run);
    assert_true(o.json && o.quiet && o.raw && o.no_color);
    assert_false(o.text || o.help || o.version);
    assert_int_equal(o.verbose, 2);
    parse_good("-thV", &cmd_run);
    assert_true(o.text && o.help && o.version);
    parse_good("--allow-degraded", &cmd_run);
    assert_int_equal(o.request->require, TIER_PROCESS);
}

static void values_reach_the_request(void **state)
{
    (void)state;
    parse_good("--env A=1 -e B=2 -v /srv:/data -w /tmp --policy strict", &cmd_run);
    assert_int_equal(o.request->env.n, 2);
    assert_string_equal(o.request->env.items[1], "B=2");
    assert_string_equal(o.request->volumes[0].target, "/data");
    assert_string_equal(o.request->workdir, "/tmp");
    assert_string_equal(o.request->policy, "strict");
    parse_good("--network full --allow-host a.example --allow-host=b.example:1 --allow-dns",
               &cmd_exec);
    assert_int_equal(o.request->network.mode, NETWORK_FULL);
    assert_int_equal(o.request->network.n_rules, 2);
    assert_true(o.request->network.allow_dns);
    parse_good("--require reduced --stdin in.txt --request r.json", &cmd_run);
    assert_int_equal(o.request->require, TIER_REDUCED);
    assert_string_equal(o.stdin_path, "in.txt");
    assert_string_equal(o.request_path, "r.json");
}

static void every_limit_is_an_option(void **state)
{
    static const struct {
        const char *line;
        enum sbr_limit which;
        uint64_t value;
    } rows[] = {
        { "--timeout 5s", SBR_WALL_MS, 5000 },
        { "--cpu-time 1", SBR_CPU_MS, 1000 },
        { "--memory 64m", SBR_MEMORY_BYTES, 64 * MIB },
        { "-m64m", SBR_MEMORY_BYTES, 64 * MIB },
        { "--cpus=1.5", SBR_CPU_MILLIS, 1500 },
        { "--pids 5", SBR_PIDS, 5 },
        { "--disk 1g", SBR_DISK_BYTES, GIB },
        { "--inodes 100", SBR_INODES, 100 },
        { "--open-files 64", SBR_OPEN_FILES, 64 },
        { "--max-output 1k", SBR_OUTPUT_BYTES, KIB },
        { "--max-connections 0", SBR_CONNECTIONS, 0 },
        { "--max-network-in 1k", SBR_NETWORK_IN, KIB },
        { "--max-network-out 0", SBR_NETWORK_OUT, 0 },
        { "--grace 0", SBR_GRACE_MS, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        parse_good(rows[i].line, &cmd_exec);
        assert_true(o.request->limits.value[rows[i].which] == rows[i].value);
        assert_int_equal(o.request->limits.given, 1u << rows[i].which);
    }
}

static void words_before_and_after_two_dashes_are_kept_apart(void **state)
{
    (void)state;
    parse_good("a -j b -- --lang -x", &cmd_run);
    assert_int_equal(o.n_positional, 2);
    assert_string_equal(o.positional[1], "b");
    assert_true(o.json);
    assert_string_equal(o.rest[0], "--lang");
    assert_string_equal(o.rest[1], "-x");
    assert_null(o.rest[2]);
    parse_good("-", &cmd_run);
    assert_string_equal(o.positional[0], "-");
    parse_good("a --", &cmd_run);
    assert_null(o.rest[0]);
}

static void the_first_word_is_found_behind_options_and_their_values(void **state)
{
    static const struct command *const list[] = { &cmd_run, &cmd_exec, &cmd_serve, NULL };
    static const struct {
        const char *line;
        size_t at;
    } rows[] = {
        { "x exec", 1 },
        { "x --memory 1g exec", 3 },
        { "x --memory=1g exec", 2 },
        { "x -m 1g exec", 3 },
        { "x -m1g exec", 2 },
        { "x -jq exec", 2 },
        { "x -qm 1g exec", 3 },
        { "x -it exec", 2 },
        { "x --status serve", 2 },
        { "x -j -", 2 },
        { "x", 0 },
        { "x -- exec", 0 },
        { "x --memory exec", 0 },
        { "x --nonsense exec", 0 },
        { "x -jY exec", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (options_first_word(list, words_of(rows[i].line)) != rows[i].at)
            fail_msg("'%s'", rows[i].line);
}

static void for_exec_the_first_word_starts_the_command(void **state)
{
    (void)state;
    parse_good("-j ls -l --json", &cmd_exec);
    assert_true(o.json);
    assert_int_equal(o.n_positional, 0);
    assert_string_equal(o.rest[0], "ls");
    assert_string_equal(o.rest[2], "--json");
    parse_good("-j -- -weird", &cmd_exec);
    assert_string_equal(o.rest[0], "-weird");
    parse_good("- x", &cmd_exec);
    assert_string_equal(o.rest[0], "-");
}

static void a_bad_command_line_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *line;
        const struct command *command;
        const char *part;
    } rows[] = {
        { "--nonsense", &cmd_run, "there is no option '--nonsense'; see --help" },
        { "--timout 5", &cmd_run, "did you mean --timeout?" },
        { "--jsn", &cmd_run, "did you mean --json?" },
        { "--memry=5m", &cmd_run, "did you mean --memory?" },
        { "-x", &cmd_run, "there is no option '-x'" },
        { "-jx", &cmd_run, "there is no option '-jx'" },
        { "---json", &cmd_run, "there is no option" },
        { "--=x", &cmd_run, "there is no option" },
        { "--jso", &cmd_run, "there is no option" }, /* no abbreviations: they would change */
        { "--json=yes", &cmd_run, "--json takes no value" },
        { "--json=", &cmd_run, "--json takes no value" },
        { "--lang", &cmd_run, "--lang needs a value: --lang NAME" },
        { "-l", &cmd_run, "-l needs a value: -l NAME" },
        { "-jl", &cmd_run, "-l needs a value" },
        { "--memory", &cmd_run, "--memory needs a value: --memory SIZE" },
        { "--timeout -1", &cmd_run, "is negative" },
        { "--timeout=", &cmd_run, "is empty" },
        { "-m 1", &cmd_run, "is too small" },
        { "--env =A", &cmd_run, "is not NAME=VALUE" },
        { "x --fast", &cmd_run, "what is for the program comes after --" },
        { "--volume /a", &cmd_run, "has no source or no target" },
        { "--workdir x", &cmd_run, "is not an absolute path" },
        { "--require vm", &cmd_run, "there is no isolation tier" },
        { "--code x", &cmd_exec, "there is no option '--code'" },
        { "--raw", &cmd_plan, "there is no option '--raw'" },
        { "--timeout 5", &cmd_doctor, "there is no option '--timeout'" },
    };
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = parse(rows[i].line, rows[i].command, &err);

        if (r == 0)
            fail_msg("'%s' should be refused", rows[i].line);
        assert_refused(r, &err, SBR_E_INVALID, rows[i].part);
    }
}

static void a_word_of_any_length_is_refused_in_one_sentence(void **state)
{
    char word[5000], *argv[] = { word, NULL };
    sbr_error err;

    (void)state;
    memset(word, 'x', sizeof(word) - 1);
    word[0] = word[1] = '-';
    word[sizeof(word) - 1] = '\0';
    o = (struct options){ .command = &cmd_run };
    assert_refused(options_parse(&o, argv, &err), &err, SBR_E_INVALID, "there is no option");
}

static void check_row(const struct option *option)
{
    assert_true(option->letter == 0 || isalpha(option->letter));
    assert_true(islower(option->help[0]) || isupper(option->help[1]) || option->help[0] == '-');
    assert_non_null(option->set);
    assert_true((option->set == option_set_request) == (option->request != NULL));
    if (option->set == option_set_flag || option->set == option_set_count)
        assert_null(option->metavar);
    if (option->set == option_set_text || option->set == option_set_list)
        assert_non_null(option->metavar);
}

static void no_command_has_an_option_twice(void **state)
{
    struct option option, other;

    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        for (struct option_walk walk = { .command = commands[i] }; option_next(&walk, &option);) {
            struct option_walk rest = walk;

            check_row(&option);
            if (option.home == IN_COMMAND)
                assert_true(option.offset < commands[i]->own_size);
            while (option_next(&rest, &other)) {
                assert_string_not_equal(option.name, other.name);
                assert_true(option.letter == 0 || option.letter != other.letter);
            }
        }
    }
}

/* People learn a letter once. */
static void an_option_has_one_letter_and_one_metavar_everywhere(void **state)
{
    struct option option, other;

    (void)state;
    for (size_t i = 0; commands[i]; i++)
        for (struct option_walk walk = { .command = commands[i] }; option_next(&walk, &option);)
            for (size_t k = 0; k < i; k++)
                for (struct option_walk w = { .command = commands[k] }; option_next(&w, &other);) {
                    bool same = strcmp(option.name, other.name) == 0;

                    assert_true(same || !option.letter || option.letter != other.letter);
                    assert_true(!same || (option.letter == other.letter &&
                                          !option.metavar == !other.metavar));
                }
}

static void paths_of_the_host_are_looked_up_from_here(void **state)
{
    char here[4096], expected[4200];

    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(setenv("HOME", "/", 1), 0);
    parse_good("-v x/y:/d1 -v ./z:/d2:rw --volume=~/usr:/d3:cow --volume .:/d4", &cmd_run);
    snprintf(expected, sizeof(expected), "%s/x/y", here);
    assert_string_equal(o.request->volumes[0].source, expected);
    snprintf(expected, sizeof(expected), "%s/z", here);
    assert_string_equal(o.request->volumes[1].source, expected);
    assert_int_equal(o.request->volumes[1].mode, VOLUME_RW);
    assert_string_equal(o.request->volumes[2].source, "/usr");
    assert_int_equal(o.request->volumes[2].mode, VOLUME_COW);
    assert_string_equal(o.request->volumes[3].source, here);
    parse_good("--project . --output *.png:out --output *.txt --diff --keep", &cmd_exec);
    assert_string_equal(o.request->project, here);
    snprintf(expected, sizeof(expected), "%s/out", here);
    assert_string_equal(o.request->outputs.items[0].dir, expected);
    assert_null(o.request->outputs.items[1].dir);
    assert_true(o.request->diff && o.request->keep);
    parse_good("-p /srv//app/", &cmd_run);
    assert_string_equal(o.request->project, "/srv/app");
    parse_good("--workspace w --disk 1g", &cmd_run);
    assert_string_equal(o.request->workspace, "w");
}

static void commands_for_what_is_kept_have_their_options(void **state)
{
    const struct changeset_options *own;
    sbr_error err;

    (void)state;
    parse_good("id a b --yes --force a --force=b --json", &cmd_apply);
    own = o.own;
    assert_true(own->yes && o.json);
    assert_int_equal(own->force.n, 2);
    assert_string_equal(own->force.items[1], "b");
    assert_int_equal(o.n_positional, 3);
    parse_good("import w --disk 1g --inodes 100", &cmd_workspace);
    assert_int_equal(o.request->limits.given, 1u << SBR_DISK_BYTES | 1u << SBR_INODES);
    assert_int_equal(parse("--memory 1g", &cmd_workspace, &err), SBR_E_INVALID);
    assert_int_equal(parse("--force x", &cmd_changes, &err), SBR_E_INVALID);
}

#define OPTIONS_TEST(test) cmocka_unit_test_teardown(test, free_options)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPTIONS_TEST(no_words_ask_for_nothing),
        OPTIONS_TEST(a_value_follows_its_option_in_every_usual_form),
        OPTIONS_TEST(switches_are_set),
        OPTIONS_TEST(values_reach_the_request),
        OPTIONS_TEST(every_limit_is_an_option),
        OPTIONS_TEST(words_before_and_after_two_dashes_are_kept_apart),
        OPTIONS_TEST(the_first_word_is_found_behind_options_and_their_values),
        OPTIONS_TEST(for_exec_the_first_word_starts_the_command),
        OPTIONS_TEST(a_bad_command_line_is_refused_with_its_reason),
        OPTIONS_TEST(a_word_of_any_length_is_refused_in_one_sentence),
        OPTIONS_TEST(no_command_has_an_option_twice),
        OPTIONS_TEST(an_option_has_one_letter_and_one_metavar_everywhere),
        OPTIONS_TEST(paths_of_the_host_are_looked_up_from_here),
        OPTIONS_TEST(commands_for_what_is_kept_have_their_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
