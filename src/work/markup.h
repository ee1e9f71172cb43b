/* Text in XML documents that we write. */
#ifndef WORK_MARKUP_H
#define WORK_MARKUP_H

struct buf;

/* Safe in an element and in an attribute; newlines stay when they are read back. */
void markup_escape(struct buf *out, const char *text);

#endif
