#include "egress/orders.h"

#include <sys/socket.h>

static bool take_rule(struct egress *egress, enum egress_order order, const struct host_rule *rule)
{
    struct network *const to[N_EGRESS_ORDERS] = { [EGRESS_ALLOW] = &egress->network,
                                                  [EGRESS_ALLOW_ONCE] = &egress->once,
                                                  [EGRESS_REFUSE] = &egress->refused };
    sbr_error ignored;

    if (order == EGRESS_REFUSE_ALL)
        egress->network.asks = false;
    else if (network_add_rule(to[order], rule, &ignored) < 0)
        return false;
    egress->once.mode = egress->network.mode;
    return true;
}

/* Only the supervisor has the other end, but what it sends is checked as the first rules were. */
void orders_obey(struct egress *egress, const char *data, size_t len)
{
    struct buf_reader in = { .data = data, .len = len };
    uint32_t order = buf_reader_u32(&in);
    struct network more = { 0 };
    sbr_error ignored;
    uint8_t holds = network_decode(&in, &more, &ignored) == 0 && more.n_rules == 1 &&
                    order < N_EGRESS_ORDERS &&
                    take_rule(egress, (enum egress_order)order, &more.rules[0]);

    if (holds)
        connection_answer(egress, order == EGRESS_ALLOW_ONCE ? more.rules[0].text : NULL);
    network_done(&more);
    (void)!send(EGRESS_ALIVE, &holds, sizeof(holds), MSG_DONTWAIT | MSG_NOSIGNAL);
}
