#include "image/image_ref.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define ZEROS "00000000"
#define HEX ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS
#define LONG HEX HEX

static void a_good_name_is_made_complete(void **state)
{
    static const struct {
        const char *text, *name;
    } rows[] = {
        { "debian", "docker.io/library/debian:latest" },
        { "debian:12", "docker.io/library/debian:12" },
        { "docker://debian:12", "docker.io/library/debian:12" },
        { "docker.io/debian:12", "docker.io/library/debian:12" },
        { "docker.io/a/debian", "docker.io/a/debian:latest" },
        { "a/b", "docker.io/a/b:latest" },
        { "a_b/c__d-e.f:V1_x.y-Z", "docker.io/a_b/c__d-e.f:V1_x.y-Z" },
        { "localhost/python", "localhost/python:latest" },
        { "localhost:5000/app", "localhost:5000/app:latest" },
        { "127.0.0.1:5000/a/b/c:1", "127.0.0.1:5000/a/b/c:1" },
        { "Registry.Example/app:1", "Registry.Example/app:1" },
        { "app@sha256:" HEX, "docker.io/library/app@sha256:" HEX },
        { "app:1@sha256:" HEX, "docker.io/library/app@sha256:" HEX },
        { "r.example:1/app:1@sha256:" HEX, "r.example:1/app@sha256:" HEX },
        { "app:" LONG, "docker.io/library/app:" LONG },
        { "docker-daemon:app", "docker-daemon:app:latest" },
        { "docker-daemon:localhost/app:1", "docker-daemon:localhost/app:1" },
        { "oci:/proc", "oci:/proc" },
        { "oci:/proc:1.0", "oci:/proc:1.0" },
        { "docker-archive:/proc/../proc", "docker-archive:/proc" },
    };
    struct image_ref ref;
    sbr_error err;
    char text[2000];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (image_ref_parse(rows[i].text, &ref, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.message);
        image_ref_text(&ref, text, sizeof(text));
        assert_string_equal(text, rows[i].name);
    }
}

static void what_is_no_name_is_refused_with_the_reason(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "", "nothing but" },
        { ":", "nothing but" },
        { ":12", "nothing but" },
        { "@sha256:" HEX, "nothing but" },
        { "r.example/", "nothing but" },
        { "docker://", "nothing but" },
        { "docker-daemon:", "nothing but" },
        { "app@", "digest" },
        { "app@sha256:", "digest" },
        { "app@sha256:00", "digest" },
        { "app@sha256:" HEX "0", "digest" },
        { "app@sha256:g" HEX, "digest" },
        { "app@sha512:" HEX, "digest" },
        { "app@SHA256:" HEX, "digest" },
        { "app@sha256:" HEX "@sha256:" HEX, "digest" },
        { "docker-daemon:app@sha256:00", "digest" },
        { "app:", "tag" },
        { "app:@sha256:" HEX, "tag" },
        { "app:.x", "tag" },
        { "app:-x", "tag" },
        { "b/app:a/b", "tag" },
        { "app:a:b", "tag" },
        { "app:a/b", "host" },
        { "app:" LONG "0", "tag" },
        { "oci:/proc:" LONG "000", "tag" },
        { "App", "small" },
        { "a/B:1", "small" },
        { "-app", "parts" },
        { "--plain-http", "parts" },
        { "app-", "parts" },
        { "a//b", "parts" },
        { "/a", "parts" },
        { "../a", "host" },
        { "a/../b", "parts" },
        { "a..b", "parts" },
        { "a b", "parts" },
        { "a\nb", "parts" },
        { "\xc3\xa4", "parts" },
        { "a;b", "parts" },
        { "a%2fb", "parts" },
        { "a?b=1", "parts" },
        { "a#b", "parts" },
        { "https://r.example/app", "host" },
        { "dir:/proc", "host" },
        { "r.example:/app", "host" },
        { "r.example:0/app", "host" },
        { "r.example:99999/app", "host" },
        { "r.example:5000x/app", "host" },
        { "r.example:-1/app", "host" },
        { "r..example/app", "host" },
        { ".example/app", "host" },
        { "-r.example/app", "host" },
        { "user:word@r.example/app", "host" },
        { "oci:", "no path" },
        { "oci::tag", "no path" },
        { "docker-archive:", "no path" },
        { "oci-archive:", "no path" },
        { "oci:/nonesuch/x:1", "there is no '/nonesuch/x'" },
        { "docker-archive:/nonesuch", "there is no '/nonesuch'" },
    };
    struct image_ref ref;
    sbr_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (image_ref_parse(rows[i].text, &ref, &err) == 0)
            fail_msg("'%s' is taken as '%s'", rows[i].text, ref.name);
        if (!strstr(err.message, rows[i].says) || strchr(err.message, '\n'))
            fail_msg("'%s': %s", rows[i].text, err.message);
    }
}

static void a_name_of_any_length_is_bounded(void **state)
{
    char text[IMAGE_REF_SIZE * 2];
    struct image_ref ref;
    sbr_error err;

    (void)state;
    memset(text, 'a', sizeof(text));
    for (size_t len = 1; len < sizeof(text); len++) {
        text[len] = '\0';
        if (image_ref_parse(text, &ref, &err) < 0)
            assert_non_null(strstr(err.message, text[len - 1] == '/' ? "parts" : "too long"));
        else
            assert_true(strlen(ref.name) >= len + strlen("docker.io/:latest"));
        text[len] = len % 200 == 100 ? '/' : 'a';
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_name_is_made_complete),
        cmocka_unit_test(what_is_no_name_is_refused_with_the_reason),
        cmocka_unit_test(a_name_of_any_length_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
