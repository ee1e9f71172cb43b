# Tries to read the files that it is given, then to connect to the port that comes last.
while (($# > 1)); do
    if { text=$(<"$1") } 2>/dev/null; then echo "read ${#text}"; else echo refused; fi
    shift
done
zmodload zsh/net/tcp
if ztcp 127.0.0.1 $1 2>/dev/null; then echo connected; else echo "no connection"; fi
