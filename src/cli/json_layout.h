/* One document of JSON, laid out for a person.  Numbers and texts stay as they are written. */
#ifndef CLI_JSON_LAYOUT_H
#define CLI_JSON_LAYOUT_H

#include <stdbool.h>

#include "base/buf.h"

enum json_layout { JSON_LAYOUT_NONE, JSON_LAYOUT_BEGUN, JSON_LAYOUT_WHOLE };

/* JSON_LAYOUT_BEGUN: the text may become a document.  `out`, which may be NULL, gets the layout of
 * a whole one, with colours if `color`. */
enum json_layout json_layout(const char *text, size_t len, bool color, struct buf *out);

#endif
