/* Until src/worker is built in: no library for zygotes. */
extern const unsigned char worker_image_start[], worker_image_end[];

const unsigned char worker_image_start[1] = { 0 };
const unsigned char worker_image_end[1] = { 0 };
