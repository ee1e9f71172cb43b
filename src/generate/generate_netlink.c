/* Writes the messages of confine/netlink.h.  They contain numbers and no pointers, and all machines
 * that we build for have the same byte order, so the build machine can write them for any other. */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "generate/c_text.h"
#include "model/network.h"

#define LO 1 /* the index of loopback in every network namespace */
#define TABLE "sandbox"
#define CHAIN "out"
#define DST4_AT 16 /* offset of the destination in an IPv4 header */
#define DST6_AT 24

struct script {
    char data[16384] __attribute__((aligned(MNL_ALIGNTO)));
    size_t len;
    unsigned int seq, last; /* the last number that the kernel acknowledges */
};

static struct nlmsghdr *begin(struct script *s, int type, int flags)
{
    struct nlmsghdr *header = mnl_nlmsg_put_header(s->data + s->len);

    header->nlmsg_type = (uint16_t)type;
    header->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    header->nlmsg_seq = s->last = ++s->seq;
    return header;
}

static void end(struct script *s, const struct nlmsghdr *header)
{
    s->len += MNL_ALIGN(header->nlmsg_len);
}

static void lo_up(struct script *s)
{
    struct nlmsghdr *header = begin(s, RTM_NEWLINK, 0);
    struct ifinfomsg *link = mnl_nlmsg_put_extra_header(header, sizeof(*link));

    link->ifi_family = AF_UNSPEC;
    link->ifi_index = LO;
    link->ifi_flags = link->ifi_change = IFF_UP;
    end(s, header);
}

static void own_address(struct script *s, int family, const char *text)
{
    struct nlmsghdr *header = begin(s, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    struct ifaddrmsg *message = mnl_nlmsg_put_extra_header(header, sizeof(*message));
    unsigned char bytes[16];
    size_t len = family == AF_INET ? 4 : 16;

    inet_pton(family, text, bytes);
    message->ifa_family = (uint8_t)family;
    message->ifa_prefixlen = (uint8_t)(len * 8);
    message->ifa_flags = IFA_F_NODAD; /* usable at once, because the route names it */
    message->ifa_scope = RT_SCOPE_UNIVERSE;
    message->ifa_index = LO;
    mnl_attr_put(header, IFA_LOCAL, len, bytes);
    mnl_attr_put(header, IFA_ADDRESS, len, bytes);
    end(s, header);
}

/* Makes every address local to this namespace, so that packets to it return through loopback. */
static void all_here(struct script *s, int family, const char *source)
{
    struct nlmsghdr *header = begin(s, RTM_NEWROUTE, NLM_F_CREATE);
    struct rtmsg *route = mnl_nlmsg_put_extra_header(header, sizeof(*route));
    unsigned char bytes[16];

    inet_pton(family, source, bytes);
    route->rtm_family = (uint8_t)family;
    route->rtm_table = RT_TABLE_MAIN;
    route->rtm_protocol = RTPROT_STATIC;
    route->rtm_scope = RT_SCOPE_HOST;
    route->rtm_type = RTN_LOCAL;
    mnl_attr_put_u32(header, RTA_OIF, LO);
    mnl_attr_put(header, RTA_PREFSRC, family == AF_INET ? 4 : 16, bytes);
    end(s, header);
}

static void routes4(struct script *s)
{
    own_address(s, AF_INET, EGRESS_HERE4);
    all_here(s, AF_INET, EGRESS_HERE4);
}

static void routes6(struct script *s)
{
    own_address(s, AF_INET6, EGRESS_HERE6);
    all_here(s, AF_INET6, EGRESS_HERE6);
}

/* nftables accepts a whole batch or nothing. */
static void batch_mark(struct script *s, int type)
{
    struct nlmsghdr *header = mnl_nlmsg_put_header(s->data + s->len);
    struct nfgenmsg *message;

    header->nlmsg_type = (uint16_t)type;
    header->nlmsg_flags = NLM_F_REQUEST;
    header->nlmsg_seq = ++s->seq;
    message = mnl_nlmsg_put_extra_header(header, sizeof(*message));
    message->nfgen_family = AF_UNSPEC;
    message->version = NFNETLINK_V0;
    message->res_id = htons(NFNL_SUBSYS_NFTABLES);
    end(s, header);
}

static struct nlmsghdr *begin_nft(struct script *s, int type, int flags)
{
    s->last = ++s->seq;
    return nftnl_nlmsg_build_hdr(s->data + s->len, (uint16_t)type, NFPROTO_INET,
                                 (uint16_t)(NLM_F_CREATE | NLM_F_ACK | flags), s->last);
}

static void add_table(struct script *s)
{
    struct nftnl_table *table = nftnl_table_alloc();
    struct nlmsghdr *header = begin_nft(s, NFT_MSG_NEWTABLE, 0);

    nftnl_table_set_u32(table, NFTNL_TABLE_FAMILY, NFPROTO_INET);
    nftnl_table_set_str(table, NFTNL_TABLE_NAME, TABLE);
    nftnl_table_nlmsg_build_payload(header, table);
    nftnl_table_free(table);
    end(s, header);
}

struct chain_def {
    const char *type;
    uint32_t hook;
    int32_t priority;
    uint32_t policy;
};

static void add_chain(struct script *s, const struct chain_def *def)
{
    struct nftnl_chain *chain = nftnl_chain_alloc();
    struct nlmsghdr *header = begin_nft(s, NFT_MSG_NEWCHAIN, 0);

    nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, TABLE);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, CHAIN);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, def->type);
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, def->hook);
    nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, def->priority);
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, def->policy);
    nftnl_chain_nlmsg_build_payload(header, chain);
    nftnl_chain_free(chain);
    end(s, header);
}

static struct nftnl_rule *new_rule(void)
{
    struct nftnl_rule *rule = nftnl_rule_alloc();

    nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, NFPROTO_INET);
    nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, TABLE);
    nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, CHAIN);
    return rule;
}

static void put_rule(struct script *s, struct nftnl_rule *rule)
{
    struct nlmsghdr *header = begin_nft(s, NFT_MSG_NEWRULE, NLM_F_APPEND);

    nftnl_rule_nlmsg_build_payload(header, rule);
    nftnl_rule_free(rule);
    end(s, header);
}

static struct nftnl_expr *add_expr(struct nftnl_rule *rule, const char *name)
{
    struct nftnl_expr *expr = nftnl_expr_alloc(name);

    nftnl_rule_add_expr(rule, expr);
    return expr;
}

static void when_equal(struct nftnl_rule *rule, const void *data, uint32_t len)
{
    struct nftnl_expr *cmp = add_expr(rule, "cmp");

    nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
    nftnl_expr_set(cmp, NFTNL_EXPR_CMP_DATA, data, len);
}

static void when_meta(struct nftnl_rule *rule, uint32_t key, const void *data, uint32_t len)
{
    struct nftnl_expr *meta = add_expr(rule, "meta");

    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, key);
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_DREG, NFT_REG_1);
    when_equal(rule, data, len);
}

static void then_accept(struct nftnl_rule *rule)
{
    struct nftnl_expr *verdict = add_expr(rule, "immediate");

    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_VERDICT, NF_ACCEPT);
}

static void pass_marked(struct script *s)
{
    uint32_t mark = EGRESS_MARK;
    struct nftnl_rule *rule = new_rule();

    when_meta(rule, NFT_META_MARK, &mark, sizeof(mark));
    then_accept(rule);
    put_rule(s, rule);
}

/* Keeps packets to this network inside. */
static void pass_network(struct script *s, int family, const char *text, unsigned int prefix)
{
    uint8_t protocol = family == AF_INET ? NFPROTO_IPV4 : NFPROTO_IPV6, bytes[16], mask[16] = { 0 },
            none[16] = { 0 };
    uint32_t len = family == AF_INET ? 4 : 16;
    struct nftnl_rule *rule = new_rule();
    struct nftnl_expr *expr;

    inet_pton(family, text, bytes);
    memset(mask, 0xff, prefix / 8);
    when_meta(rule, NFT_META_NFPROTO, &protocol, sizeof(protocol));
    expr = add_expr(rule, "payload");
    nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_OFFSET, family == AF_INET ? DST4_AT : DST6_AT);
    nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_LEN, len);
    nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
    expr = add_expr(rule, "bitwise");
    nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(expr, NFTNL_EXPR_BITWISE_LEN, len);
    nftnl_expr_set(expr, NFTNL_EXPR_BITWISE_MASK, mask, len);
    nftnl_expr_set(expr, NFTNL_EXPR_BITWISE_XOR, none, len);
    when_equal(rule, bytes, len);
    then_accept(rule);
    put_rule(s, rule);
}

/* Loads the listeners' port into a register for the next expression. */
static void load_port(struct nftnl_rule *rule)
{
    uint16_t port = htons(EGRESS_PORT);
    struct nftnl_expr *load = add_expr(rule, "immediate");

    nftnl_expr_set_u32(load, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
    nftnl_expr_set(load, NFTNL_EXPR_IMM_DATA, &port, sizeof(port));
}

static void hand_over(struct script *s, uint8_t protocol)
{
    struct nftnl_rule *rule = new_rule();
    struct nftnl_expr *tproxy;

    when_meta(rule, NFT_META_L4PROTO, &protocol, sizeof(protocol));
    load_port(rule);
    tproxy = add_expr(rule, "tproxy");
    nftnl_expr_set_u32(tproxy, NFTNL_EXPR_TPROXY_FAMILY, NFPROTO_UNSPEC);
    nftnl_expr_set_u32(tproxy, NFTNL_EXPR_TPROXY_REG_PORT, NFT_REG_1);
    then_accept(rule);
    put_rule(s, rule);
}

static void rewrite(struct script *s, uint8_t protocol)
{
    struct nftnl_rule *rule = new_rule();
    struct nftnl_expr *redirect;

    when_meta(rule, NFT_META_L4PROTO, &protocol, sizeof(protocol));
    load_port(rule);
    redirect = add_expr(rule, "redir");
    nftnl_expr_set_u32(redirect, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
    put_rule(s, rule);
}

static void pass_inside(struct script *s)
{
    pass_marked(s);
    pass_network(s, AF_INET, "127.0.0.0", 8);
    pass_network(s, AF_INET, EGRESS_HERE4, 32);
    pass_network(s, AF_INET6, "::1", 128);
    pass_network(s, AF_INET6, EGRESS_HERE6, 128);
}

/* Drops what no rule accepts: protocols that the egress process does not handle. */
static void tproxy(struct script *s)
{
    static const struct chain_def chain = { "filter", NF_INET_PRE_ROUTING, -150, NF_DROP };

    batch_mark(s, NFNL_MSG_BATCH_BEGIN);
    add_table(s);
    add_chain(s, &chain);
    pass_inside(s);
    hand_over(s, IPPROTO_TCP);
    hand_over(s, IPPROTO_UDP);
    batch_mark(s, NFNL_MSG_BATCH_END);
}

static void redirect(struct script *s)
{
    static const struct chain_def chain = { "nat", NF_INET_LOCAL_OUT, -100, NF_ACCEPT };

    batch_mark(s, NFNL_MSG_BATCH_BEGIN);
    add_table(s);
    add_chain(s, &chain);
    pass_inside(s);
    rewrite(s, IPPROTO_TCP);
    batch_mark(s, NFNL_MSG_BATCH_END);
}

/* In the order of enum netlink_script. */
static const struct {
    const char *name, *family;
    void (*write)(struct script *s);
} scripts[] = {
    { "NETLINK_LO_UP", "NETLINK_ROUTE", lo_up },
    { "NETLINK_ROUTES4", "NETLINK_ROUTE", routes4 },
    { "NETLINK_ROUTES6", "NETLINK_ROUTE", routes6 },
    { "NETLINK_TPROXY", "NETLINK_NETFILTER", tproxy },
    { "NETLINK_REDIRECT", "NETLINK_NETFILTER", redirect },
};

int generate_netlink(FILE *out, const char *arch, char *const *paths, sbr_error *err)
{
    static struct script made[ARRAY_LEN(scripts)];

    (void)arch;
    (void)paths;
    (void)err;
    fputs("/* Made by sandbox-run-generate (src/generate/generate_netlink.c). */\n"
          "#include <linux/netlink.h>\n\n#include \"confine/netlink.h\"\n",
          out);
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        scripts[i].write(&made[i]);
        fprintf(out, "\nstatic const unsigned char script_%zu[] = {", i);
        for (size_t k = 0; k < made[i].len; k++)
            fprintf(out, "%s0x%02x,", k % 16 ? " " : "\n    ", (unsigned char)made[i].data[k]);
        fputs("\n};\n", out);
    }
    fputs("\nconst struct netlink_messages netlink_scripts[N_NETLINK_SCRIPTS] = {\n", out);
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        fprintf(out, "    [%s] = { %s, %u, script_%zu, sizeof(script_%zu) },\n", scripts[i].name,
                scripts[i].family, made[i].last, i, i);
    fputs("};\n", out);
    return 0;
}
