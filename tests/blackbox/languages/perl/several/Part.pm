package Part;
use strict;
use warnings;

sub joined { return join "+", @_ }

1;
