/* The manual page, from the tables that parse the command line. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

void manual_print(void);

#endif
