#!/bin/sh
# embed.sh PROGRAM OUTPUT.S: an assembler file that holds the bytes of a program.
set -eu
cat >"$2" <<EOF
/* $(sha256sum <"$1") */
    .section .rodata
    .global init_image_start
    .global init_image_end
    .balign 64
init_image_start:
    .incbin "$(realpath "$1")"
init_image_end:
    .section .note.GNU-stack,"",%progbits
EOF
