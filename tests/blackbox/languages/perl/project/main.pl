use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use Shapes qw(area $NAME);

open(my $file, "<", "data/words.txt") or die $!;
print "$NAME ", area(2, 3), " ", <$file>;
