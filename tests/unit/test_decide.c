#include "egress/decide.h"

#include "unit.h"

#define MAX_RULES 4

/* A question and its answer.  Rules stand in one text, a space between; "!" before a name is
 * `anywhere`, "?" before a rule is `only_public`. */
struct row {
    const char *rules;
    const char *name; /* NULL: none */
    const char *address;
    uint16_t port;
    bool own;
    const char *refused; /* a part of the rule that refuses; NULL: allowed */
    const char *remedy;  /* NULL: not looked at */
};

static struct network make_network(enum network_mode mode, const char *rules)
{
    struct network network = { .mode = mode };
    char text[256], *rest = text, *word;
    struct host_rule rule;
    sbr_error err;

    assert_true(strlen(rules) < sizeof(text));
    memcpy(text, rules, strlen(rules) + 1);
    while ((word = strsep(&rest, " "))) {
        bool anywhere = word[0] == '!', only_public = word[0] == '?';

        if (!*word)
            continue;
        if (host_rule_parse(word + (anywhere || only_public), &rule, &err) < 0)
            fail_msg("%s", err.message);
        rule.anywhere = anywhere;
        rule.only_public = only_public;
        assert_int_equal(network_add_rule(&network, &rule, &err), 0);
    }
    return network;
}

static void assert_row(enum network_mode mode, const struct row *row)
{
    struct network network = make_network(mode, row->rules);
    struct address a;
    struct decision d;

    assert_true(address_parse(row->address, &a));
    d = decide_address(&network, row->name, &a, row->port, (struct whereabouts){ .own = row->own });
    if (d.allowed != !row->refused)
        fail_msg("%s: '%s' with %s (%s), port %d: %s %s", network_mode_name(mode), row->rules,
                 row->address, row->name ? row->name : "-", row->port,
                 d.allowed ? "allowed" : "refused", d.rule);
    if (!d.allowed) {
        if (!strstr(d.rule, row->refused))
            fail_msg("'%s' should say '%s'", d.rule, row->refused);
        assert_int_equal(strncmp(d.rule, "network: ", 9), 0);
        if (row->remedy)
            assert_string_equal(d.remedy, row->remedy);
    } else {
        assert_string_equal(d.rule, "");
        assert_string_equal(d.remedy, "");
    }
    network_done(&network);
}

#define NO_RULE "network: allow (no rule for "

/* clang-format off */
static const struct row in_allow[] = {
    /* An empty list is nothing. */
    { "", NULL, "8.8.8.8", 443, false, NO_RULE "8.8.8.8:443)", "--allow-host 8.8.8.8:443" },
    { "", NULL, "2606:4700::1", 443, false, NO_RULE "[2606:4700::1]:443)", "--allow-host [2606:4700::1]:443" },
    { "", "example.org", "8.8.8.8", 443, false, NO_RULE "example.org:443)", "--allow-host example.org:443" },
    /* Names, and no names that only look alike. */
    { "example.org", "example.org", "8.8.8.8", 443, false, NULL, NULL },
    { "example.org", "example.org", "2606:4700::1", 80, false, NULL, NULL },
    { "example.org", NULL, "8.8.8.8", 443, false, NO_RULE, NULL },
    { "example.org", "www.example.org", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "example.org", "notexample.org", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "example.org", "example.org.evil.test", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "example.org", "example.or", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "*.example.org", "www.example.org", "8.8.8.8", 443, false, NULL, NULL },
    { "*.example.org", "a.b.example.org", "8.8.8.8", 443, false, NULL, NULL },
    { "*.example.org", "example.org", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "*.example.org", "notexample.org", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "*.example.org", "www.example.org.evil.test", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "*.example.org", "org", "8.8.8.8", 443, false, NO_RULE, NULL },
    { "*.com", "example.com", "8.8.8.8", 443, false, NULL, NULL },
    /* Ports. */
    { "example.org:443", "example.org", "8.8.8.8", 443, false, NULL, NULL },
    { "example.org:443", "example.org", "8.8.8.8", 80, false, NO_RULE "example.org:80)", NULL },
    { "*.example.org:443", "a.example.org", "8.8.8.8", 80, false, NO_RULE, NULL },
    { "example.org:80 example.org:443", "example.org", "8.8.8.8", 443, false, NULL, NULL },
    { "8.8.8.8:53", NULL, "8.8.8.8", 53, false, NULL, NULL },
    { "8.8.8.8:53", NULL, "8.8.8.8", 54, false, NO_RULE, NULL },
    /* Networks: each family has its own. */
    { "8.8.8.0/24", NULL, "8.8.8.255", 1, false, NULL, NULL },
    { "8.8.8.0/24", NULL, "8.8.9.0", 1, false, NO_RULE, NULL },
    { "8.8.8.0/24", "any.test", "8.8.8.8", 1, false, NULL, NULL },
    { "2606:4700::/32", NULL, "2606:4700::1", 1, false, NULL, NULL },
    { "2606:4700::/32", NULL, "2606:4701::1", 1, false, NO_RULE, NULL },
    { "0.0.0.0/0", NULL, "8.8.8.8", 1, false, NULL, NULL },
    { "0.0.0.0/0", NULL, "2606:4700::1", 1, false, NO_RULE, NULL },
    { "::/0", NULL, "2606:4700::1", 1, false, NULL, NULL },
    { "::/0", NULL, "8.8.8.8", 1, false, NO_RULE, NULL },
    { "::ffff:8.8.8.0/120", NULL, "8.8.8.8", 1, false, NULL, NULL },
    { "8.8.8.8", NULL, "::ffff:8.8.8.8", 1, false, NULL, NULL },
    /* A rule for the address within is one for a translator's, not for a tunnel's. */
    { "8.8.8.8", NULL, "64:ff9b::8.8.8.8", 1, false, NULL, NULL },
    { "8.8.8.8", NULL, "2002:808:808::1", 1, false, NO_RULE "[2002:808:808::1]:1)", NULL },
};

/* The same in mode allow and in mode full: the rules name what is special, and nothing else opens
 * it. */
static const struct row special[] = {
    { "", NULL, "10.0.0.5", 5432, false, "(10.0.0.5 is private)", "--allow-host 10.0.0.5:5432" },
    { "10.0.0.5", NULL, "10.0.0.5", 5432, false, NULL, NULL },
    { "10.0.0.5:5432", NULL, "10.0.0.5", 5432, false, NULL, NULL },
    { "10.0.0.5:5432", NULL, "10.0.0.5", 5433, false, "is private", NULL },
    { "10.0.0.5", NULL, "10.0.0.6", 5432, false, "is private", NULL },
    { "10.0.0.0/8", NULL, "10.0.0.5", 5432, false, NULL, NULL },
    { "10.0.0.0/7", NULL, "10.0.0.5", 5432, false, "is private", NULL },
    { "0.0.0.0/0", NULL, "10.0.0.5", 5432, false, "is private", "--allow-host 10.0.0.5:5432" },
    { "0.0.0.0/0", NULL, "127.0.0.1", 80, false, "is loopback", "--allow-host 127.0.0.1:80" },
    { "0.0.0.0/0", NULL, "169.254.169.254", 80, false, "is link-local", "--allow-host 169.254.169.254:80" },
    { "0.0.0.0/0", NULL, "192.0.2.1", 80, false, "is reserved", "--allow-host 192.0.2.1:80" },
    { "::/0", NULL, "::1", 80, false, "is loopback", "--allow-host [::1]:80" },
    { "::/0", NULL, "fd00:ec2::254", 80, false, "is private", NULL },
    { "::/0", NULL, "fe80::1", 80, false, "is link-local", NULL },
    { "169.254.169.254", NULL, "169.254.169.254", 80, false, NULL, NULL },
    { "169.254.169.254", NULL, "169.254.169.253", 80, false, "is link-local", NULL },
    { "169.254.0.0/16", NULL, "169.254.169.254", 80, false, NULL, NULL },
    { "168.63.129.0/24", NULL, "168.63.129.16", 80, false, "is link-local", NULL },
    { "168.63.129.16", NULL, "168.63.129.16", 80, false, NULL, NULL },
    { "fd00::/8", NULL, "fd00:ec2::254", 80, false, NULL, NULL },
    { "fe80::1", NULL, "fe80::1", 80, false, NULL, NULL },
    { "192.0.2.0/24", NULL, "192.0.2.1", 80, false, NULL, NULL },
    { "240.0.0.0/4", NULL, "240.0.0.1", 80, false, NULL, NULL },
    /* A name that leads there opens nothing. */
    { "example.org", "example.org", "10.0.0.5", 80, false,
      "(example.org leads to 10.0.0.5, which is private)", "--allow-host 10.0.0.5:80" },
    { "example.org", "example.org", "127.0.0.1", 80, false, "which is loopback", NULL },
    { "example.org", "example.org", "0.0.0.0", 80, false, "which is loopback", NULL },
    { "example.org", "example.org", "169.254.169.254", 80, false, "which is link-local", NULL },
    { "example.org", "example.org", "::ffff:127.0.0.1", 80, false, "which is loopback", NULL },
    { "example.org", "example.org", "64:ff9b::a9fe:a9fe", 80, false, "169.254.169.254, which is link-local", NULL },
    { "example.org", "example.org", "2002:7f00:1::", 80, false, "127.0.0.1, which is loopback", NULL },
    { "example.org 10.0.0.5:80", "example.org", "10.0.0.5", 80, false, NULL, NULL },
    { "example.org:80 10.0.0.5:81", "example.org", "10.0.0.5", 80, false, "which is private", NULL },
    /* An operator's name may lead to what is private, not to metadata. */
    { "!example.org:80", "example.org", "10.0.0.5", 80, false, NULL, NULL },
    { "!example.org:80", "example.org", "127.0.0.1", 80, true, NULL, NULL },
    { "!example.org:80", "example.org", "10.0.0.5", 80, true, NULL, NULL },
    { "!example.org:80", "example.org", "10.0.0.5", 81, false, "is private", NULL },
    { "!example.org:80", "example.net", "10.0.0.5", 80, false, "is private", NULL },
    { "!example.org:80", NULL, "10.0.0.5", 80, false, "is private", NULL },
    { "!example.org:80", "example.org", "169.254.169.254", 80, false, "is link-local", NULL },
    { "!example.org:80", "example.org", "224.0.0.1", 80, false, "multicast", "" },
    /* Loopback by its name or address, at its port. */
    { "localhost:8080", NULL, "127.0.0.1", 8080, true, NULL, NULL },
    { "localhost:8080", NULL, "::1", 8080, true, NULL, NULL },
    { "localhost:8080", "localhost", "127.0.0.1", 8080, true, NULL, NULL },
    { "localhost:8080", NULL, "127.0.0.1", 8081, true, "is loopback", "--allow-host 127.0.0.1:8081" },
    { "localhost:8080", NULL, "10.0.0.5", 8080, false, "is private", NULL },
    { "localhost:8080", "localhost", "10.0.0.5", 8080, false, "is private", NULL },
    { "127.0.0.1:8080", NULL, "127.0.0.1", 8080, true, NULL, NULL },
    { "127.0.0.1:8080", NULL, "127.0.0.2", 8080, true, "is loopback", NULL },
    { "127.0.0.1:8080", NULL, "::1", 8080, true, "is loopback", NULL },
    { "[::1]:8080", NULL, "::1", 8080, true, NULL, NULL },
    { "[::1]:8080", NULL, "127.0.0.1", 8080, true, "is loopback", NULL },
    { "127.0.0.0/8:8080", NULL, "127.0.0.2", 8080, true, NULL, NULL },
    /* The host's own addresses: exactly. */
    { "8.8.8.0/24", NULL, "8.8.8.8", 80, true, "(8.8.8.8 is this host's own)", "--allow-host 8.8.8.8:80" },
    { "8.8.8.0/24", NULL, "8.8.8.0", 80, true, "is this host's own", NULL },
    { "8.8.8.8", NULL, "8.8.8.8", 80, true, NULL, NULL },
    { "8.8.8.8:80", NULL, "8.8.8.8", 81, true, "is this host's own", NULL },
    { "10.0.0.0/8", NULL, "10.0.0.5", 80, true, "is this host's own", NULL },
    { "10.0.0.5", NULL, "10.0.0.5", 80, true, NULL, NULL },
    { "example.org", "example.org", "8.8.8.8", 80, true, "which is this host's own", NULL },
    { "fd00::1", NULL, "fd00::1", 80, true, NULL, NULL },
    { "fd00::/8", NULL, "fd00::1", 80, true, "is this host's own", NULL },
    /* A stranger's rule opens none of all these, also where it names them exactly. */
    { "?10.0.0.5:80", NULL, "10.0.0.5", 80, false, "is private", NULL },
    { "?10.0.0.0/8", NULL, "10.0.0.5", 80, false, "is private", NULL },
    { "?fd00::/8", NULL, "fd00::1", 80, false, "is private", NULL },
    { "?192.0.2.1", NULL, "192.0.2.1", 80, false, "is reserved", NULL },
    { "?169.254.169.254", NULL, "169.254.169.254", 80, false, "is link-local", NULL },
    { "?168.63.129.16", NULL, "168.63.129.16", 80, false, "is link-local", NULL },
    { "?localhost:80", NULL, "127.0.0.1", 80, true, "is loopback", NULL },
    { "?localhost:80", "localhost", "127.0.0.1", 80, true, "is loopback", NULL },
    { "?127.0.0.1:80", NULL, "127.0.0.1", 80, true, "is loopback", NULL },
    { "?[::1]:80", NULL, "::1", 80, true, "is loopback", NULL },
    { "?8.8.8.8", NULL, "8.8.8.8", 80, true, "is this host's own", NULL },
    { "?8.8.8.8:80", NULL, "64:ff9b::8.8.8.8", 80, true, "is this host's own", NULL },
    { "?10.0.0.5", NULL, "64:ff9b::10.0.0.5", 80, false, "10.0.0.5 is private", NULL },
    { "?8.8.8.8", NULL, "8.8.8.8", 80, false, NULL, NULL },
    { "?8.8.8.0/24", NULL, "8.8.8.8", 80, false, NULL, NULL },
    { "?example.org:80", "example.org", "8.8.8.8", 80, false, NULL, NULL },
    { "?example.org", "example.org", "10.0.0.5", 80, false, "which is private", NULL },
    { "?10.0.0.5 10.0.0.5:80", NULL, "10.0.0.5", 80, false, NULL, NULL },
    { "?8.8.8.8 8.8.8.8:80", NULL, "8.8.8.8", 80, true, NULL, NULL },
    /* With an address within. */
    { "64:ff9b::/96", NULL, "64:ff9b::8.8.8.8", 80, false, NULL, NULL },
    { "64:ff9b::/96", NULL, "64:ff9b::10.0.0.5", 80, false, "10.0.0.5 is private", "--allow-host 10.0.0.5:80" },
    { "64:ff9b::a00:5", NULL, "64:ff9b::10.0.0.5", 80, false, "10.0.0.5 is private", NULL },
    { "10.0.0.5", NULL, "64:ff9b::10.0.0.5", 80, false, NULL, NULL },
    { "8.8.8.8", NULL, "64:ff9b::8.8.8.8", 80, false, NULL, NULL },
    { "8.8.8.8", NULL, "64:ff9b::8.8.8.8", 80, true, NULL, NULL },
    { "64:ff9b:1::/48", NULL, "64:ff9b:1::8.8.8.8", 80, false, NULL, NULL },
    { "64:ff9b:1::/48", NULL, "64:ff9b:1::10.0.0.5", 80, false, "10.0.0.5 is private", NULL },
    { "64:ff9b:1::/48 10.0.0.5", NULL, "64:ff9b:1::10.0.0.5", 80, false, NULL, NULL },
    { "10.0.0.5", NULL, "64:ff9b:1::10.0.0.5", 80, false, "is private", NULL },
    { "2002::/16", NULL, "2002:808:808::1", 80, false, NULL, NULL },
    { "2002::/16", NULL, "2002:a00:5::1", 80, false, "10.0.0.5 is private", NULL },
    { "2002::/16 10.0.0.0/8", NULL, "2002:a00:5::1", 80, false, NULL, NULL },
    { "", NULL, "::8.8.8.8", 80, false, "is reserved", NULL },
    { "::7f00:0/104 127.0.0.1:80", NULL, "::127.0.0.1", 80, false, NULL, NULL },
    { "::7f00:0/104", NULL, "::127.0.0.1", 80, false, "is loopback", NULL },
    { "::/96 127.0.0.1:80", NULL, "::127.0.0.1", 80, false, "is reserved", NULL },
    /* Never, whatever the rules say. */
    { "0.0.0.0/0", NULL, "224.0.0.1", 5353, false, "multicast or broadcast", "" },
    { "240.0.0.0/4", NULL, "255.255.255.255", 67, false, "multicast or broadcast", "" },
    { "::/0", NULL, "ff02::fb", 5353, false, "multicast or broadcast", "" },
    { "64:ff9b::/96", NULL, "64:ff9b::224.0.0.1", 80, false, "multicast or broadcast", "" },
    { "198.18.0.0/15", NULL, "198.18.4.0", 80, false, "stands for no name", "" },
    { "198.18.0.0/15 example.org", "example.org", "198.18.0.2", 53, false, "stands for no name", "" },
    { "fd53:6272::/32", NULL, "fd53:6272:1::", 80, false, "stands for no name", "" },
    { "!example.org", "example.org", "198.19.255.255", 80, false, "stands for no name", "" },
};

static const struct row in_full[] = {
    { "", NULL, "8.8.8.8", 443, false, NULL, NULL },
    { "", "any.test", "2606:4700::1", 1, false, NULL, NULL },
    { "", NULL, "64:ff9b::8.8.8.8", 443, false, NULL, NULL },
    { "", NULL, "2002:808:808::1", 443, false, NULL, NULL },
    { "example.org:443", "any.test", "8.8.8.8", 80, false, NULL, NULL },
    { "", NULL, "8.8.8.8", 443, true, "network: full (8.8.8.8 is this host's own)", "--allow-host 8.8.8.8:443" },
    { "", NULL, "10.0.0.5", 80, false, "network: full (10.0.0.5 is private)", "--allow-host 10.0.0.5:80" },
};

static const struct {
    const char *name, *allowed_by; /* rules; NULL: no list does */
} names[] = {
    { "example.org", "example.org" },
    { "example.org", "example.org:443" },
    { "www.example.org", "*.example.org" },
    { "a.b.example.org", "*.example.org:443" },
    { "localhost", "localhost:80" },
};

static const struct {
    const char *name, *rules;
} other_names[] = {
    { "example.org", "" },
    { "example.org", "*.example.org" },
    { "example.org", "0.0.0.0/0 ::/0" },
    { "notexample.org", "*.example.org example.org" },
    { "secret.example.org", "example.org" },
    { "org", "*.org" },
};
/* clang-format on */

static void only_what_is_listed_is_allowed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(in_allow); i++)
        assert_row(NETWORK_ALLOW, &in_allow[i]);
}

static void special_addresses_need_a_rule_of_their_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(special); i++) {
        assert_row(NETWORK_ALLOW, &special[i]);
        assert_row(NETWORK_FULL, &special[i]);
    }
}

static void full_is_every_public_address(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(in_full); i++)
        assert_row(NETWORK_FULL, &in_full[i]);
}

static void without_a_network_no_rule_helps(void **state)
{
    static const struct row rows[] = {
        { "example.org", "example.org", "8.8.8.8", 443, false, "network: ", NULL },
        { "0.0.0.0/0", NULL, "8.8.8.8", 443, false, "network: ", NULL },
        { "localhost:80", NULL, "127.0.0.1", 80, false, "network: ", NULL },
    };
    struct row none = {
        "", NULL, "8.8.8.8", 443, false, "network: none (", "--allow-host 8.8.8.8:443"
    };
    struct row local = { "",
                         NULL,
                         "8.8.8.8",
                         443,
                         false,
                         "network: localhost (",
                         "--network allow --allow-host 8.8.8.8:443" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_row(NETWORK_NONE, &rows[i]);
        assert_row(NETWORK_LOCALHOST, &rows[i]);
    }
    assert_row(NETWORK_NONE, &none);
    assert_row(NETWORK_LOCALHOST, &local);
}

static void a_listed_name_can_be_looked_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct network network = make_network(NETWORK_ALLOW, names[i].allowed_by);
        struct decision d = decide_name(&network, names[i].name);

        assert_true(d.allowed);
        assert_ptr_equal(d.by, &network.rules[0]);
        network.mode = NETWORK_NONE;
        assert_false(decide_name(&network, names[i].name).allowed);
        network.mode = NETWORK_LOCALHOST;
        assert_false(decide_name(&network, names[i].name).allowed);
        network_done(&network);
    }
}

static void another_name_cannot_unless_dns_is_allowed(void **state)
{
    char remedy[64] = "--allow-host ";

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(other_names); i++) {
        struct network network = make_network(NETWORK_ALLOW, other_names[i].rules);
        struct decision d = decide_name(&network, other_names[i].name);

        assert_false(d.allowed);
        assert_int_equal(strncmp(d.rule, NO_RULE, strlen(NO_RULE)), 0);
        strcpy(remedy + strlen("--allow-host "), other_names[i].name);
        assert_string_equal(d.remedy, remedy);
        network.allow_dns = true;
        d = decide_name(&network, other_names[i].name);
        assert_true(d.allowed);
        assert_null(d.by);
        network.allow_dns = false;
        network.mode = NETWORK_FULL;
        assert_true(decide_name(&network, other_names[i].name).allowed);
        network_done(&network);
    }
}

static void the_remedy_helps(void **state)
{
    /* Whatever is refused with a remedy is allowed with it. */
    static const char *const targets[] = { "8.8.8.8",         "10.0.0.5",     "127.0.0.1",
                                           "169.254.169.254", "192.0.2.1",    "::1",
                                           "fd00::1",         "2606:4700::1", "64:ff9b::10.0.0.5" };

    (void)state;
    for (size_t i = 0; i < 4 * ARRAY_LEN(targets); i++) {
        enum network_mode mode = i % 2 ? NETWORK_ALLOW : NETWORK_FULL;
        struct network network = make_network(mode, "");
        bool own = i % 4 / 2 != 0;
        struct address a;
        struct decision d;

        assert_true(address_parse(targets[i / 4], &a));
        own = own && address_inner(&a, &(struct address){ 0 }) == ADDRESS_PLAIN;
        d = decide_address(&network, NULL, &a, 443, (struct whereabouts){ .own = own });
        assert_true(d.allowed || d.remedy[0]);
        if (!d.allowed) {
            network = make_network(mode, d.remedy + strlen("--allow-host "));
            assert_true(decide_address(&network, NULL, &a, 443, (struct whereabouts){ .own = own })
                            .allowed);
        }
        network_done(&network);
    }
}

/* Neighbours with public addresses: 8.8.8.0/24 and 2606:4700::/64 are networks of this host. */
static void a_neighbour_needs_a_rule_within_its_network(void **state)
{
    static const struct {
        enum network_mode mode;
        const char *rules, *name, *address;
        uint8_t link[2];
        const char *remedy; /* NULL: allowed */
    } rows[] = {
        { NETWORK_FULL, "", NULL, "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_FULL, "", NULL, "8.8.8.8", { 0, 0 }, NULL },
        { NETWORK_FULL, "", "x.test", "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_FULL, "", NULL, "2606:4700::1", { 64, 0 }, "--allow-host [2606:4700::1]:443" },
        { NETWORK_FULL, "8.8.8.8", NULL, "8.8.8.8", { 120, 0 }, NULL },
        { NETWORK_FULL, "8.8.8.8:80", NULL, "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_FULL, "8.8.8.0/24", NULL, "8.8.8.8", { 120, 0 }, NULL },
        { NETWORK_FULL, "8.8.8.0/25", NULL, "8.8.8.8", { 120, 0 }, NULL },
        { NETWORK_FULL, "8.8.8.0/23", NULL, "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_ALLOW, "0.0.0.0/0", NULL, "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_ALLOW, "x.test", "x.test", "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_ALLOW, "!x.test", "x.test", "8.8.8.8", { 120, 0 }, NULL },
        { NETWORK_ALLOW, "8.8.8.8", NULL, "8.8.8.8", { 120, 0 }, NULL },
        { NETWORK_ALLOW, "2606:4700::/64", NULL, "2606:4700::1", { 64, 0 }, NULL },
        /* A stranger's rule does not, however narrow it is. */
        { NETWORK_FULL, "?8.8.8.8", NULL, "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_ALLOW, "?8.8.8.8", NULL, "8.8.8.8", { 120, 0 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_ALLOW, "?8.8.8.8", NULL, "8.8.8.8", { 0, 0 }, NULL },
        { NETWORK_ALLOW, "?8.8.8.8 8.8.8.8", NULL, "8.8.8.8", { 120, 0 }, NULL },
        /* Through a translator. */
        { NETWORK_FULL, "", NULL, "64:ff9b::8.8.8.8", { 0, 120 }, "--allow-host 8.8.8.8:443" },
        { NETWORK_FULL, "8.8.8.8", NULL, "64:ff9b::8.8.8.8", { 0, 120 }, NULL },
        /* What is not public is opened as it always is. */
        { NETWORK_FULL, "10.0.0.0/8", NULL, "10.0.0.5", { 120, 0 }, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct network network = make_network(rows[i].mode, rows[i].rules);
        struct whereabouts at = { .link = { rows[i].link[0], rows[i].link[1] } };
        struct address a;
        struct decision d;

        assert_true(address_parse(rows[i].address, &a));
        d = decide_address(&network, rows[i].name, &a, 443, at);
        if (d.allowed != !rows[i].remedy)
            fail_msg("row %zu: %s", i, d.rule);
        assert_string_equal(d.remedy, rows[i].remedy ? rows[i].remedy : "");
        if (!d.allowed)
            assert_non_null(strstr(d.rule, "is in this host's own network"));
        network_done(&network);
    }
}

static void the_longest_name_fits(void **state)
{
    struct network network = { .mode = NETWORK_ALLOW };
    char name[HOSTNAME_SIZE];
    struct address a;
    struct decision d;

    (void)state;
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (size_t i = 60; i < sizeof(name) - 1; i += 60)
        name[i] = '.';
    assert_true(address_parse("8.8.8.8", &a));
    d = decide_address(&network, name, &a, 65535, (struct whereabouts){ 0 });
    assert_false(d.allowed);
    assert_int_equal(strlen(d.remedy), strlen("--allow-host :65535") + strlen(name));
    network.mode = NETWORK_LOCALHOST;
    d = decide_address(&network, name, &a, 65535, (struct whereabouts){ 0 });
    assert_string_equal(d.remedy + strlen(d.remedy) - 6, ":65535");
    assert_true(address_parse("ff02:1111:1111:1111:1111:1111:1111:1111", &a));
    network.mode = NETWORK_FULL;
    d = decide_address(&network, name, &a, 65535, (struct whereabouts){ 0 });
    assert_non_null(strstr(d.rule, "broadcast)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_listed_is_allowed),
        cmocka_unit_test(special_addresses_need_a_rule_of_their_own),
        cmocka_unit_test(full_is_every_public_address),
        cmocka_unit_test(without_a_network_no_rule_helps),
        cmocka_unit_test(a_listed_name_can_be_looked_up),
        cmocka_unit_test(another_name_cannot_unless_dns_is_allowed),
        cmocka_unit_test(the_remedy_helps),
        cmocka_unit_test(a_neighbour_needs_a_rule_within_its_network),
        cmocka_unit_test(the_longest_name_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
