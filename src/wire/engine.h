/* What the engine (`sandbox-run serve`) and its clients send to each other, over a SEQPACKET socket
 * that only its owner can reach.  Both are of one build; the version word detects a stale one.
 *
 * The client plans the run, asks for a standby of its plan's blueprint (a lease), gets the sandbox
 * itself as file descriptors, and runs and supervises it as if it had made it.  Nothing is copied
 * through the engine.  When the connection ends, the engine ends what was leased over it.
 *
 *   client                           engine
 *   LEASE key [blueprint] ---------> takes a standby, makes one, or queues the client
 *                   <--------------- QUEUED position (again when it changes)
 *                   <--------------- GRANT handover, fds | COLD reason | REFUSED reason
 *   DONE --------------------------> resets the cgroup slot; the next LEASE may follow
 *   STATUS ------------------------>
 *                   <--------------- STATE, with a memory file of JSON
 *
 * A LEASE carries its blueprint unless the previous LEASE of the connection sent the same one;
 * after COLD with `unknown` it is sent again.  After COLD the client makes its sandbox itself, and
 * counts as running until it sends DONE.
 *
 * An engine and a client of different versions understand one thing of each other, which never
 * changes: a message whose first word is not the engine's version is answered by an engine_hello,
 * and the connection ends.  A message of that one word, 0, asks for it. */
#ifndef WIRE_ENGINE_H
#define WIRE_ENGINE_H

#include <stdint.h>

#include "base/sha256.h"
#include "wire/handover_msg.h"

#define ENGINE_VERSION 4u
#define ENGINE_CALLER_SIZE 64
#define ENGINE_LABEL_SIZE 32
#define ENGINE_LANGUAGE_SIZE 64
#define ENGINE_POLICY_SIZE 32
#define ENGINE_REASON_SIZE 200
#define ENGINE_MAX_BLUEPRINT (1u << 20)

#define ENGINE_HELLO_MARK 0x4f4c4548u /* "HELO" */
#define ENGINE_RELEASE_SIZE 20

/* Fixed for all versions. */
struct engine_hello {
    uint32_t version; /* ENGINE_VERSION of the engine */
    uint32_t mark;
    int32_t pid;
    char release[ENGINE_RELEASE_SIZE]; /* "1.0.0" */
};
_Static_assert(sizeof(struct engine_hello) == 32, "as every version knows it");

enum engine_ask { ENGINE_LEASE = 1, ENGINE_DONE, ENGINE_STATUS };

/* Client to engine. */
struct engine_request {
    uint32_t version;
    uint32_t ask;
    char key[SHA256_HEX_SIZE];                /* of the blueprint; empty: only a right to run */
    char caller[ENGINE_CALLER_SIZE];          /* for fair queueing; empty: the peer process   */
    char label[ENGINE_LABEL_SIZE];            /* of the blueprint, for people: "python run"   */
    uint32_t cgroup_kind, cgroup_controllers; /* of the blueprint, whose bytes lack them      */
    /* What the blueprint was made of; the engine makes it again and compares (job/warm_check.h). */
    char language[ENGINE_LANGUAGE_SIZE]; /* as requested, maybe with @VERSION; empty: a command */
    char policy[ENGINE_POLICY_SIZE];
    char image[SHA256_HEX_SIZE]; /* its id in the store; empty: the host's files */
    uint32_t stage;
    uint32_t share; /* percent that the caller may hold as one of several; 0: no bound */
    uint64_t memory_bytes;
    uint32_t has_blueprint; /* a sealed memory file with the encoded blueprint is attached */
};

enum engine_answer { ENGINE_QUEUED = 1, ENGINE_GRANT, ENGINE_COLD, ENGINE_REFUSED, ENGINE_STATE };

/* How the sandbox was made. */
enum engine_grant { ENGINE_READY = 1, ENGINE_FORKED };

struct engine_reply {
    uint32_t version;
    uint32_t answer;
    uint32_t way;      /* GRANT                                                   */
    uint32_t position; /* QUEUED: how many clients are before it                  */
    uint32_t unknown;  /* COLD: the engine lacks the blueprint; send it next time */
    struct handover_msg handover;
    char reason[ENGINE_REASON_SIZE]; /* COLD, REFUSED: one sentence */
};

#endif
