/* Of live-write.so; see live_ruby.c. */
#ifndef LIVE_LIVE_RUBY_H
#define LIVE_LIVE_RUBY_H

/* At the start: looks for Ruby's function. */
void live_ruby_find(void);
/* This thread has just written to stdout. */
void live_ruby_wrote(void);

#endif
