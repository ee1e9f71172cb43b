#include "plan/live_object.h"

/* src/meson.build makes these. */
extern const unsigned char live_linked_image_start[], live_linked_image_end[];
extern const unsigned char live_loaded_image_start[], live_loaded_image_end[];
extern const char live_linked_image_sum[], live_loaded_image_sum[];

struct live_object live_object_find(const char *driver)
{
    if (!strcmp(driver, LIVE_OBJECT_LINKED))
        return (struct live_object){ live_linked_image_start,
                                     (size_t)(live_linked_image_end - live_linked_image_start),
                                     live_linked_image_sum };
    return (struct live_object){ live_loaded_image_start,
                                 (size_t)(live_loaded_image_end - live_loaded_image_start),
                                 live_loaded_image_sum };
}
