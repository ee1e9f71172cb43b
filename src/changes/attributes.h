/* Extended attributes: access lists, labels, the user's own. */
#ifndef CHANGES_ATTRIBUTES_H
#define CHANGES_ATTRIBUTES_H

/* Copies those that do not depend on the content; never capabilities.  Errors are ignored. */
void attributes_copy(int from_fd, int to_fd);

#endif
