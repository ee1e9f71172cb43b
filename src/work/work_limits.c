#include "work/work_limits.h"

#include "base/text.h"

static const struct {
    enum sbr_limit limit;
    uint64_t value;
} presets[] = {
    { SBR_WALL_MS, 600000 },     { SBR_MEMORY_BYTES, 4 * GIB }, { SBR_PIDS, 512 },
    { SBR_DISK_BYTES, 4 * GIB }, { SBR_INODES, 500000 },        { SBR_OPEN_FILES, 4096 },
};

int work_limits_set(struct limits *limits, sbr_error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(presets); i++)
        if (!(limits->given & 1u << presets[i].limit) &&
            limits_set(limits, presets[i].limit, presets[i].value, err) < 0)
            return err->code;
    return 0;
}
