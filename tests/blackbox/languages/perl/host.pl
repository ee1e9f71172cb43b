# Tries to read the files that it is given, then to connect to the port that comes last.
use strict;
use warnings;
use IO::Socket::INET;

my $port = pop;
for my $path (@ARGV) {
    open(my $file, "<", $path) or print("refused\n"), next;
    print "read\n";
}
print IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) ? "connected\n" : "no connection\n";
