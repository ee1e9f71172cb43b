#include "base/sha256.h"

#include <string.h>

/* FIPS 180-4, 4.2.2: fractional parts of the cube roots of the first 64 primes. */
/* clang-format off */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

static uint32_t rotate(uint32_t x, unsigned int by)
{
    return x >> by | x << (32 - by);
}

static uint32_t load_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void expand(uint32_t w[64], const unsigned char *block)
{
    for (unsigned int i = 0; i < 16; i++)
        w[i] = load_be32(block + 4 * i);
    for (unsigned int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

/* One round.  The names are those of the standard; instead of moving eight variables one place on,
 * the caller names them one place on, so that they stay in registers. */
#define ROUND(a, b, c, d, e, f, g, h, n)                                                           \
    do {                                                                                           \
        uint32_t sum1 = rotate((e), 6) ^ rotate((e), 11) ^ rotate((e), 25);                        \
        uint32_t sum0 = rotate((a), 2) ^ rotate((a), 13) ^ rotate((a), 22);                        \
        uint32_t choice = (g) ^ ((e) & ((f) ^ (g)));                                               \
        uint32_t t1 = (h) + sum1 + choice + round_constants[(n)] + w[(n)];                         \
                                                                                                   \
        (d) += t1;                                                                                 \
        (h) = t1 + sum0 + (((a) & (b)) | ((c) & ((a) | (b))));                                     \
    } while (0)

static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7], w[64];

    expand(w, block);
    for (unsigned int i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sha256_init(struct sha256 *s)
{
    static const uint32_t initial[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

    memcpy(s->state, initial, sizeof(s->state));
    s->len = 0;
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
    size_t used = s->len % sizeof(s->block);
    const unsigned char *p = data;

    s->len += len;
    while (len) {
        size_t n = sizeof(s->block) - used < len ? sizeof(s->block) - used : len;

        if (n == sizeof(s->block)) { /* whole blocks need no copy */
            compress(s->state, p);
        } else {
            memcpy(s->block + used, p, n);
            if (used + n == sizeof(s->block))
                compress(s->state, s->block);
        }
        p += n;
        len -= n;
        used = 0;
    }
}

void sha256_finish(struct sha256 *s, unsigned char digest[SHA256_SIZE])
{
    static const unsigned char padding[64] = { 0x80 };
    uint64_t bits = s->len * 8;
    unsigned char length[8];

    for (unsigned int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, padding, 1 + (119 - s->len % 64) % 64);
    sha256_add(s, length, sizeof(length));
    for (unsigned int i = 0; i < SHA256_SIZE; i++)
        digest[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_finish_hex(struct sha256 *s, char hex[SHA256_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[SHA256_SIZE];

    sha256_finish(s, digest);
    for (unsigned int i = 0; i < SHA256_SIZE; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[SHA256_HEX_SIZE - 1] = '\0';
}

void sha256_add_u64(struct sha256 *s, uint64_t value)
{
    unsigned char bytes[8];

    for (unsigned int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    sha256_add(s, bytes, sizeof(bytes));
}

void sha256_add_text(struct sha256 *s, const char *text)
{
    size_t len = text ? strlen(text) : 0;

    sha256_add_u64(s, text ? len : UINT64_MAX);
    if (len)
        sha256_add(s, text, len);
}

void sha256_hex(const void *data, size_t len, char hex[SHA256_HEX_SIZE])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, data, len);
    sha256_finish_hex(&s, hex);
}
