# Says what it was given: arguments, one variable, stdin line by line.
use strict;
use warnings;

print "args: ", map({ "[$_]" } @ARGV), "\n";
print "GREETING: ", $ENV{GREETING} // "unset", "\n";
while (my $line = <STDIN>) {
    chomp $line;
    print "$.: $line\n";
}
