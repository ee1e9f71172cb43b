/* A request as bytes, for another process of the same build: what the struct points to follows it.
 */
#ifndef MODEL_REQUEST_CODEC_H
#define MODEL_REQUEST_CODEC_H

#include "base/buf.h"
#include "model/request.h"

/* Sets out->failed without memory. */
void request_codec_encode(const sbr_request *req, struct buf *out);
/* request_free frees it.  Refuses bytes of another build. */
int request_codec_decode(struct buf_reader *in, sbr_request **ret, sbr_error *err) must_check;

#endif
