/* The block in which lines of stdout are collected; see live_write.c. */
#ifndef LIVE_LIVE_BLOCK_H
#define LIVE_LIVE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#define LARGE 4096u /* a write of its own */
#define INTERPOSED __attribute__((visibility("default")))

/* At the start.  False: stdout is no pipe, and nothing will be collected. */
bool live_begin(char **env);
/* When the program ends itself. */
void live_end(void);

/* Adds a line to the block: the usual case of bulk output.  False: nothing was done. */
bool live_collect(const char *line, size_t len);
bool live_collect_parts(const struct iovec *parts, int n, size_t len);
/* Whether lines are collected now.  It may change at any time. */
bool live_is_bulk(void);
/* Writes the block, before what others could notice. */
void live_write_now(void);
/* Another file takes the place of stdout. */
void live_forget_stdout(void);

/* Makes room in the block, and collects or writes.  False: stdout is not ours, or this thread is in
 * the middle of it. */
bool live_begin_write(void);
/* Bytes, or a negative error number. */
long live_end_write(const struct iovec *parts, int n, size_t len);

/* Until it is told otherwise, this thread must not wait: live_refuse is true instead, and remembers
 * that it was. */
void live_only_collect(bool only);
bool live_refuse(void);
bool live_is_refused(void);

/* Of live-write.so; see live_perl.c. */

/* At the start: looks for Perl's functions. */
void live_perl_find(void);
/* After lines began to be collected, by the thread that has just written one. */
void live_perl_take(void);

/* Of live-write.so; see live_ruby.c. */

/* At the start: looks for Ruby's function. */
void live_ruby_find(void);
/* This thread has just written to stdout. */
void live_ruby_wrote(void);

#endif
