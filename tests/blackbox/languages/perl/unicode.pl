use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));

my @grüße = (["日本", "Nihon"], ["🦀", "Krebs"], ["e\x{301}", "combining"]);
print "$_->[0] ", length $_->[0], " $_->[1]\n" for @grüße;
chomp(my $zeile = <STDIN>);
print scalar reverse($zeile), " ", uc "ß", "\n";
