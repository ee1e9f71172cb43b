#!/bin/sh
# embed.sh NAME PROGRAM OUTPUT.S: an assembler file that holds the bytes of a program.
set -eu
cat >"$3" <<EOF
/* $(sha256sum <"$2") */
    .section .rodata
    .global $1_image_start
    .global $1_image_end
    .balign 64
$1_image_start:
    .incbin "$(realpath "$2")"
$1_image_end:
    .section .note.GNU-stack,"",%progbits
EOF
