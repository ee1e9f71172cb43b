/* Looks for files that run with rights of their owner: set-id bits, file capabilities.
 *
 * write() clears both; a write through a shared mapping does not, and no filter can tell such a
 * mapping from another.  So no program may write to a tree with such a file.  Programs cannot
 * make one (policies/nosetid.yaml), so a file that is not there at the start is not there later,
 * unless the host itself makes it. */
#ifndef CHANGES_SETID_H
#define CHANGES_SETID_H

#include "base/err.h"

/* Entries of one tree; a tree with more is refused. */
#define SETID_MOST_ENTRIES 500000

/* `source` is a file or directory that the caller named. 0; SBR_E_DENIED with a sentence that names
 * the file, or says why the tree cannot be searched.  Trees on a nosuid mount are not searched. */
int setid_look(const char *source, sbr_error *err) must_check;

#endif
