#include "cli/docker_options.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define MOST 24

/* Words with one blank between. */
static char **split(char *text, char *words[MOST])
{
    size_t n = 0;

    for (char *word = strtok_r(text, " ", &text); word; word = strtok_r(NULL, " ", &text))
        words[n++] = word;
    words[n] = NULL;
    return words;
}

static void an_option_means_what_docker_means(void **state)
{
    static const struct {
        const char *said, *ours;
    } rows[] = {
        { "img", "--stdin /dev/null" },
        { "-i img", "" },
        { "-it img sh -c x", "" },
        { "--interactive=true --rm --init --cap-drop ALL img", "" },
        { "-i -e A=1 -eB --env C=3 img", "--env A=1 --env B --env C=3" },
        { "-i --env-file /dev/null -w /srv img", "--env-file /dev/null --workdir /srv" },
        { "-i --read-only --allow-degraded img", "--read-only --allow-degraded" },
        { "-i -m 512m --memory-swap 512m --cpus=1.5 --pids-limit 64 img",
          "--memory 512m --cpus 1.5 --pids 64" },
        { "-i -m 1g --memory-swap 1024m img", "--memory 1g" },
        { "-i -v /a:/b -v ./c:/d:ro img", "--volume /a:/b:rw --volume ./c:/d:ro" },
        { "-i --mount type=bind,src=/a,dst=/b,readonly img", "--volume /a:/b:ro" },
        { "-i --mount type=bind,src=/a,dst=/b,ro=false img", "--volume /a:/b:rw" },
        { "-i --mount type=tmpfs,target=/tmp --tmpfs /tmp img", "" },
        { "-i --network bridge -p 8080:80 img", "--network full --publish 8080:80" },
        { "-i --net none -p 127.0.0.1:8080:80 img", "--network none --publish 127.0.0.1:8080:80" },
        { "-i --security-opt no-new-privileges --stop-timeout 3 img", "--grace 3s" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[200], got[400] = "", *words[MOST];
        struct docker_run run;
        sbr_error err;

        snprintf(text, sizeof(text), "%s", rows[i].said);
        assert_int_equal(docker_options_parse(split(text, words), &run, &err), 0);
        assert_string_equal(run.image, "img");
        for (size_t k = 0; k < run.words.n; k++) {
            if (!strcmp(run.words.items[k], "--image") || !strcmp(run.words.items[k], "--timeout"))
                k++;
            else if (strcmp(run.words.items[k], "--quiet") != 0 &&
                     strcmp(run.words.items[k], "--tty") != 0 &&
                     strcmp(run.words.items[k], "--no-tty") != 0)
                snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", got[0] ? " " : "",
                         run.words.items[k]);
        }
        assert_string_equal(got, rows[i].ours);
        docker_options_done(&run);
    }
}

static void what_is_not_done_is_refused_by_name(void **state)
{
    static const struct {
        const char *said, *says;
    } rows[] = {
        { "--restart always img", "--restart is refused" },
        { "--privileged img", "--privileged is refused" },
        { "--cap-add NET_ADMIN img", "--cap-add is refused" },
        { "--network host img", "--network host" },
        { "-v data:/x img", "no named volumes" },
        { "-v /x img", "no anonymous volumes" },
        { "-v /a:/b:z img", "ro or rw" },
        { "--mount type=volume,src=a,dst=/b img", "--mount type=volume" },
        { "--mount type=bind,src=/a,dst=/b,bind-propagation=shared img", "--mount type=bind" },
        { "--tmpfs /x:size=1m img", "--tmpfs /x:size=1m" },
        { "-m 1g --memory-swap 2g img", "no swap" },
        { "--memory-swap -1 img", "no swap" },
        { "--pids-limit -1 img", "--pids-limit -1" },
        { "-p 80 img", "8080:80" },
        { "-p 127.0.0.1::80 img", "8080:80" },
        { "--security-opt seccomp=unconfined img", "--security-opt seccomp=unconfined" },
        { "--rm=false img", "--rm can only be true" },
        { "--name /x img", "is no name" },
        { "--frobnicate img", "'--frobnicate' is no option" },
        { "-iX img", "'-iX' is no option" },
        { "-e", "--env needs a value" },
        { "-m 5m img", "the least is 6m" },
        { "-m much img", "give a size" },
        { "--memory-swap 1g img", "no swap" },
        { "--mount type=bind,src=/a,dst=/b,ro=maybe img", "nothing else" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[200], *words[MOST];
        struct docker_run run;
        sbr_error err;

        snprintf(text, sizeof(text), "%s", rows[i].said);
        assert_true(docker_options_parse(split(text, words), &run, &err) < 0);
        if (!strstr(err.message, rows[i].says))
            fail_msg("%s: %s", rows[i].said, err.message);
        docker_options_done(&run);
    }
}

static void the_command_is_the_rest(void **state)
{
    char text[] = "--entrypoint /bin/x --name web -u app img -i --rm", nothing[] = "--rm";
    char *words[MOST];
    struct docker_run run;
    sbr_error err;

    (void)state;
    assert_int_equal(docker_options_parse(split(text, words), &run, &err), 0);
    assert_string_equal(run.entrypoint, "/bin/x");
    assert_string_equal(run.name, "web");
    assert_string_equal(run.user, "app");
    assert_string_equal(run.command[0], "-i");
    assert_string_equal(run.command[1], "--rm");
    assert_null(run.command[2]);
    docker_options_done(&run);
    assert_int_equal(docker_options_parse(split(nothing, words), &run, &err), 0);
    assert_null(run.image); /* the caller says so, with a status of its own */
    docker_options_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_means_what_docker_means),
        cmocka_unit_test(what_is_not_done_is_refused_by_name),
        cmocka_unit_test(the_command_is_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
