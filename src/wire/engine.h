/* What the engine (`sandbox-run serve`) and its clients say to each other, over a SEQPACKET socket that only its owner
 * can reach.  Both are of one build; the version word guards against a stale one.
 *
 * The client plans the run, asks for a parked sandbox of its plan's template (a lease), gets the sandbox itself by its
 * descriptors, and runs and watches it as if it had made it.  Nothing is copied through the engine.  When the connection
 * ends, the engine ends what was leased over it.
 *
 *   client                           engine
 *   LEASE key [template] ----------> a parked one, or one is made, or it is queued
 *                   <--------------- QUEUED position (again when it changes)
 *                   <--------------- GRANT handover, descriptors  | COLD reason | REFUSED reason
 *   DONE ---------------------------> the nest is reset; the next LEASE may follow
 *   STATUS -------------------------> 
 *                   <--------------- STATUS, with a memory file of JSON
 *
 * After COLD the client makes its sandbox itself, and still holds its place among those that run until it says DONE. */
#ifndef WIRE_ENGINE_H
#define WIRE_ENGINE_H

#include <stdint.h>

#include "base/sha256.h"
#include "wire/handover_msg.h"

#define ENGINE_VERSION 2u
#define ENGINE_CALLER_SIZE 64
#define ENGINE_LABEL_SIZE 32
#define ENGINE_LANGUAGE_SIZE 64
#define ENGINE_POLICY_SIZE 32
#define ENGINE_REASON_SIZE 200
#define ENGINE_MAX_BLUEPRINT (1u << 20)

enum engine_ask { ENGINE_LEASE = 1, ENGINE_DONE, ENGINE_STATUS };

/* Client to engine. */
struct engine_request {
    uint32_t version;
    uint32_t ask;
    char key
        [SHA256_HEX_SIZE]; /* of the template; empty: the run has none, and wants a place only        */
    char caller
        [ENGINE_CALLER_SIZE]; /* whom the queue is fair to; empty: the process at the other end          */
    char label
        [ENGINE_LABEL_SIZE]; /* of the template, for people: "python run"                               */
    uint32_t cgroup_kind,
        cgroup_controllers; /* of the template, whose bytes do not hold them                  */
    /* What the template was made of; the engine makes it once more and compares (job/warm_check.h). */
    char language
        [ENGINE_LANGUAGE_SIZE]; /* as it was asked for, maybe with @VERSION; empty: a command */
    char policy[ENGINE_POLICY_SIZE];
    uint32_t stage;
    uint64_t memory_bytes;
    uint32_t
        has_blueprint; /* a sealed memory file with the encoded template comes along: sent when the last answer
                            * was COLD with ENGINE_UNKNOWN, and with the first request of a connection             */
};

enum engine_answer { ENGINE_QUEUED = 1, ENGINE_GRANT, ENGINE_COLD, ENGINE_REFUSED, ENGINE_STATE };

/* How the sandbox came about. */
enum engine_grant { ENGINE_READY = 1, ENGINE_FORKED };

struct engine_reply {
    uint32_t version;
    uint32_t answer;
    uint32_t way;      /* GRANT */
    uint32_t position; /* QUEUED: how many are before it */
    uint32_t unknown;  /* COLD: the template is not known here; send it next time */
    struct handover_msg handover;
    char reason[ENGINE_REASON_SIZE]; /* COLD, REFUSED: one sentence */
};

#endif
