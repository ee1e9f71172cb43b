# Writes, appends, reads, renames, lists and removes in the work directory.
use strict;
use warnings;
use File::Temp;

mkdir "notes" or die $!;
open(my $file, ">", "notes/one.txt") or die $!;
print $file "alpha\nbeta\n";
close $file;
open($file, ">>", "notes/one.txt") or die $!;
print $file "gamma\n";
close $file;
open($file, "<", "notes/one.txt") or die $!;
chomp(my @lines = <$file>);
print scalar(@lines), " ", join(",", @lines), "\n";

open($file, "+>:raw", "raw.bin") or die $!;
print $file pack("C*", 0 .. 255);
seek $file, 0, 0;
my $bytes = do { local $/; <$file> };
my $sum = 0;
$sum += $_ for unpack "C*", $bytes;
print -s "raw.bin", " $sum\n";

rename "notes/one.txt", "notes/two.txt";
print map { s,.*/,,r . "\n" } glob "notes/*";
unlink "notes/two.txt";
print scalar(my @left = glob "notes/*"), "\n";

my $scratch = File::Temp->new;
print $scratch "scratch\n";
seek $scratch, 0, 0;
print <$scratch>;
