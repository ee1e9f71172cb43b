use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Part;

open(my $file, "<", "words.txt") or die $!;
print Part::joined(split " ", <$file>), "\n";
