/* How results look to a person: header, explanation, metrics; colours on a terminal only. */
#ifndef CLI_PRESENT_H
#define CLI_PRESENT_H

#include "cli/cli.h"
#include "model/result.h"

/* True when the stream is a terminal that wants colours. */
bool present_uses_color(int fd, const struct options *o);

void present_header(const char *title, const struct options *o);
/* `full`: the line of metrics too; otherwise only what went wrong. */
void present_result(const sbr_result *result, const struct options *o, bool full);
/* Why it ended as it did; part of present_result. */
void present_explanation(const sbr_result *result, const struct options *o);
/* What was refused, one line each; part of present_result. */
void present_denials(const struct denials *denials, const struct options *o);
void present_error(const sbr_error *err, const struct options *o);

/* What was changed in copy-on-write trees and what was put out; nothing when nobody asked. */
void present_changes(const sbr_result *result, const struct options *o);

/* What the stages before the program's own said: of the one that failed, or of all when asked for. */
void present_stages(const sbr_result *result, const struct options *o);
/* A line on the terminal that is wiped again; NULL wipes it. */
void present_stage(const char *name);

#endif
