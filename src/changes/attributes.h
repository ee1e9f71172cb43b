/* Extended attributes: access lists, labels, a user's own. */
#ifndef CHANGES_ATTRIBUTES_H
#define CHANGES_ATTRIBUTES_H

/* Copies those that belong to a file whatever its content; never capabilities.  What cannot be had is left. */
void attributes_copy(int from_fd, int to_fd);

#endif
