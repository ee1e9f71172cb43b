/* Ports of the host's loopback that lead into the sandbox.  This module only parses and checks. */
#ifndef MODEL_PUBLISH_H
#define MODEL_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/jsonw.h"

#define PUBLISH_MAX 16

struct publish_rule {
    bool v4, v6;   /* listens on 127.0.0.1, on ::1; without an address on both */
    uint16_t port; /* of the host; 0: any that is free */
    uint16_t inside;
    /* Of a run that has ended. */
    uint64_t connections, bytes_in, bytes_out;
};

struct publish {
    struct publish_rule rules[PUBLISH_MAX];
    size_t n;
};

/* [HOST:]PORT[:INSIDE][/tcp], where HOST is 127.0.0.1, [::1] or localhost. */
int publish_parse(const char *text, struct publish_rule *ret, sbr_error *err) must_check;
/* Refuses more than PUBLISH_MAX, and a port of the host that is there already. */
int publish_add(struct publish *publish, const struct publish_rule *rule, sbr_error *err)
    must_check;
int publish_join(struct publish *publish, const struct publish *more, sbr_error *err) must_check;
/* The addresses that listen: "127.0.0.1:8080", "[::1]:8080", or both with "and" between. */
#define PUBLISH_TEXT_SIZE 48
const char *publish_text(const struct publish_rule *rule, char buf[PUBLISH_TEXT_SIZE]);
/* An array of objects; nothing when there is no rule. */
void publish_put_json(struct jsonw *j, const char *key, const struct publish *publish);

#endif
