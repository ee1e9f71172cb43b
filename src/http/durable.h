/* Jobs that go on without their client, also after the gateway was killed.
 *
 *   accepted ──on record──> 202 ──"begun" on record──> runs ──result on record──> others see it
 *
 * execution_record_accept is the first step; whom it calls replies, and then calls durable_begin.
 * http/restoration.c does the rest in the next gateway. */
#ifndef HTTP_DURABLE_H
#define HTTP_DURABLE_H

#include "http/execution_record.h"

/* The header Prefer asks for a job that goes on. */
bool durable_is_asked(const struct exchange *x);
/* Starts an execution that is on record as accepted, as soon as the record says that it begins. */
void durable_begin(struct execution *e);
/* An execution without a job ends with an error, and that is on record as its result. */
void durable_fail(struct execution *e, const sbr_error *err);
/* For an exchange whose request was not put on record. */
void durable_refuse(struct exchange *x, const sbr_error *err);

#endif
