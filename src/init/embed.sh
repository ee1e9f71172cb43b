#!/bin/sh
# embed.sh NAME PROGRAM OUTPUT.S: an assembler file with the bytes of a program, their sum, its name.
set -eu
sum=$(sha256sum <"$2")
cat >"$3" <<EOF
    .section .rodata
    .global $1_image_start
    .global $1_image_end
    .global $1_image_sum
    .global $1_image_name
    .balign 64
$1_image_start:
    .incbin "$(realpath "$2")"
$1_image_end:
$1_image_sum:
    .asciz "${sum%% *}"
$1_image_name:
    .asciz "$(basename "$2")"
    .section .note.GNU-stack,"",%progbits
EOF
