/* Pictures as blocks that a model sees. */
#include <fcntl.h>
#include <string.h>

#include "base/encoding.h"
#include "base/fd.h"
#include "mcp/mcp_files.h"
#include "mcp/mcp_internal.h"

#define IMAGE_MAX ((size_t)4 << 20)
#define IMAGES_BYTES ((size_t)6 << 20) /* of one result: clients read 10 MiB of a message */

static const struct {
    const char *type;
    const char *begin;
    size_t len, skip;
} types[] = {
    { "image/png", "\x89PNG\r\n\x1a\n", 8, 0 },
    { "image/jpeg", "\xff\xd8\xff", 3, 0 },
    { "image/gif", "GIF8", 4, 0 },
    { "image/webp", "WEBP", 4, 8 },
};

const char *mcp_image_type(const char *data, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (len >= types[i].skip + types[i].len && len <= IMAGE_MAX &&
            !memcmp(data + types[i].skip, types[i].begin, types[i].len))
            return types[i].type;
    return NULL;
}

void mcp_image_show(struct mcp_call *call, const char *type, const char *data, size_t len)
{
    scoped_free char *base64 = NULL;

    if (call->image_bytes + len > IMAGES_BYTES || !(base64 = encoding_to_base64(data, len)))
        return;
    call->image_bytes += len;
    json_array_append_new(call->content, json_pack("{s:s, s:s, s:s}", "type", "image", "data",
                                                   base64, "mimeType", type));
}

/* The first bytes decide, not the name that the program gave. */
static void show_any(struct mcp_call *call, const char *data, size_t len)
{
    const char *type = mcp_image_type(data, len);

    if (type)
        mcp_image_show(call, type, data, len);
}

void mcp_image_of_file(struct mcp_call *call, const json_t *file)
{
    const char *saved = mcp_text(file, "saved"), *mime = mcp_text(file, "mime");
    scoped_free char *data = NULL;
    scoped_fd int fd = -1;
    sbr_error ignored;
    size_t len;

    if (!saved || !mime || strncmp(mime, "image/", 6) != 0 ||
        json_integer_value(json_object_get(file, "size")) > (json_int_t)IMAGE_MAX)
        return;
    fd = open(saved, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fd_read_text(fd, IMAGE_MAX, &data, &len, &ignored) == 0)
        show_any(call, data, len);
}

void mcp_image_of_bundle(struct mcp_call *call, const json_t *bundle)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        const char *base64 = mcp_text(bundle, types[i].type);
        scoped_free char *data = NULL;
        size_t len;

        if (base64 && encoding_from_base64(base64, &data, &len) == 0)
            show_any(call, data, len);
    }
}
