#!/bin/sh
# embed.sh NAME PROGRAM OUTPUT.S: an assembler file that holds the bytes of a program, and their sum.
set -eu
sum=$(sha256sum <"$2")
cat >"$3" <<EOF
    .section .rodata
    .global $1_image_start
    .global $1_image_end
    .global $1_image_sum
    .balign 64
$1_image_start:
    .incbin "$(realpath "$2")"
$1_image_end:
$1_image_sum:
    .asciz "${sum%% *}"
    .section .note.GNU-stack,"",%progbits
EOF
