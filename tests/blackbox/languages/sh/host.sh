# Tries to read the files that it is given, then to connect to the port that comes last.  The shell has no
# sockets; Perl belongs to the base system.
while [ $# -gt 1 ]; do
    if text=$(cat "$1" 2>/dev/null); then echo "read ${#text}"; else echo refused; fi
    shift
done
perl -MIO::Socket::INET -e '
    print IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => shift) ? "connected\n" : "no connection\n"' "$1"
