#!/bin/sh
# Prints the compiler options that put the kernel's headers behind musl's own.
printf -- '-idirafter /usr/include -idirafter /usr/include/%s\n' "$(gcc -print-multiarch)"
