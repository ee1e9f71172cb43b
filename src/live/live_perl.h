/* Of live-write.so; see live_perl.c. */
#ifndef LIVE_LIVE_PERL_H
#define LIVE_LIVE_PERL_H

/* At the start: looks for Perl's functions. */
void live_perl_find(void);
/* After lines began to be collected, by the thread that has just written one. */
void live_perl_take(void);

#endif
