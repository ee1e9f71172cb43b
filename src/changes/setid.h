/* Looks through a tree that is to be written to for files that give whoever runs them rights of their owner's: set-id
 * bits, file capabilities.
 *
 * write() takes both away; writing through a shared mapping does not, and no filter can tell such a mapping from another.
 * So no program gets to write where such a file is.  Programs cannot make one there (policies/nosetid.yaml), so what was
 * not found before the start is not there later, unless the host itself makes it. */
#ifndef CHANGES_SETID_H
#define CHANGES_SETID_H

#include "base/err.h"

/* Entries of one tree that are looked at; more are refused. */
#define SETID_MOST_ENTRIES 500000

/* `source` is what the caller named, a file or a directory.  0; SBR_E_DENIED with a sentence that names the file, or says
 * why the tree cannot be looked through.  Nothing is looked at where the host's mount honours no such bits. */
int setid_look(const char *source, sbr_error *err) must_check;

#endif
