package Shapes;
use strict;
use warnings;
use Exporter "import";
our @EXPORT_OK = qw(area $NAME);
our $NAME = "circle";

sub area { my ($width, $height) = @_; return $width * $height }

1;
