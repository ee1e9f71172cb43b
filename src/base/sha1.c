#include "base/sha256.h"

#include <string.h>

#define BLOCK 64

static uint32_t rotate(uint32_t word, unsigned int bits)
{
    return word << bits | word >> (32 - bits);
}

static uint32_t read_be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The function and the constant of round `i`. */
static uint32_t mix(unsigned int i, uint32_t b, uint32_t c, uint32_t d)
{
    if (i < 20)
        return ((b & c) | (~b & d)) + 0x5a827999;
    if (i < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (i < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(uint32_t h[5], const unsigned char *block)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (unsigned int i = 0; i < 80; i++)
        w[i] = i < 16 ? read_be32(block + (size_t)i * 4)
                      : rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned int i = 0; i < 80; i++) {
        uint32_t next = rotate(a, 5) + mix(i, b, c, d) + e + w[i];

        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void sha1(const void *data, size_t len, unsigned char digest[SHA1_SIZE])
{
    uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    const unsigned char *bytes = data;
    unsigned char last[2 * BLOCK] = { 0 };
    size_t whole = len / BLOCK * BLOCK, rest = len - whole;
    size_t last_len = rest + 9 > BLOCK ? sizeof(last) : BLOCK;

    for (size_t at = 0; at < whole; at += BLOCK)
        add_block(h, bytes + at);
    if (rest)
        memcpy(last, bytes + whole, rest);
    last[rest] = 0x80;
    for (unsigned int i = 0; i < 8; i++)
        last[last_len - 1 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    for (size_t at = 0; at < last_len; at += BLOCK)
        add_block(h, last + at);
    for (unsigned int i = 0; i < SHA1_SIZE; i++)
        digest[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}
