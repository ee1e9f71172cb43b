/* The dialects, for dialect_table. */
#ifndef DIALECT_DIALECTS_H
#define DIALECT_DIALECTS_H

struct dialect;

extern const struct dialect dialect_e2b;
extern const struct dialect dialect_gojudge;
extern const struct dialect dialect_judge0;
extern const struct dialect dialect_piston;

#endif
