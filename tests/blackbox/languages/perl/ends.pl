# Ends in the way that its argument names.
use strict;
use warnings;

sub inner {
    my ($values) = @_;
    return $values->missing;
}

sub outer {
    return inner({ present => 1 });
}

$| = 1;
my $how = shift;
if ($how eq "exit") {
    print "leaving\n";
    print STDERR "complaint\n";
    exit 7;
} elsif ($how eq "error") {
    print "before\n";
    outer();
} elsif ($how eq "loop") {
    print "started\n";
    1 while 1;
} elsif ($how eq "memory") {
    print "started\n";
    my @kept;
    push @kept, "x" x (4 << 20) . @kept while 1;
} elsif ($how eq "flood") {
    print "x" x 99, "\n" while 1;
}
