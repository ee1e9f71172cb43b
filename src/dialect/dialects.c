#include "dialect/dialects.h"

#include <stddef.h>

#include "http/dialect.h"

const struct dialect *const dialect_table[] = { &dialect_piston, &dialect_judge0, &dialect_gojudge,
                                                &dialect_e2b, NULL };
