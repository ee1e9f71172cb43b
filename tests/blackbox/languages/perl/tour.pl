# A walk through the core modules; every line of its output is known.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Encode qw(decode encode);
use JSON::PP;
use List::Util qw(first max reduce shuffle sum uniq);
use Math::BigInt;
use MIME::Base64;
use POSIX qw(floor strftime);
use Scalar::Util qw(blessed looks_like_number);
use Storable qw(dclone);
use Text::Wrap;
use Time::HiRes;
use Time::Local qw(timegm);

package Animal {
    my $made = 0;
    sub new { my ($class, %given) = @_; $made++; return bless {%given}, $class }
    sub speak { my $self = shift; return $self->{name} . " says " . $self->sound }
    sub made { return $made }
    sub DESTROY { print "gone $_[0]{name}\n" }
}

package Dog {
    our @ISA = ("Animal");
    sub sound { return "woof" }
}

package main;

my %counts;
$counts{$_}++ for split " ", "the quick brown fox jumps over the lazy dog the end";
my @ranked = sort { $counts{$b} <=> $counts{$a} || $a cmp $b } keys %counts;
print "@ranked[0 .. 2] $counts{the} ", scalar(keys %counts), "\n";
print join(",", map { $_ ** 2 } grep { $_ % 2 } 1 .. 9), " ", sum(1 .. 10), " ", max(3, 9, 4), " ", (reduce { $a * $b } 1 .. 5), "\n";
print join("", uniq(split //, "mississippi")), " ", scalar reverse("stressed"), " ", ucfirst(lc "HELLO"), " ", "ab" x 3, "\n";
{
    my $dog = Dog->new(name => "Rex");
    print $dog->speak, " ", blessed($dog), " ", Animal::made(), " ", $dog->can("sound") ? "can" : "cannot", "\n";
}
my $deep = { list => [1, [2, 3]], code => sub { return $_[0] * 2 } };
my $copy = dclone({ list => $deep->{list} });
$copy->{list}[1][0] = 99;
print "$deep->{list}[1][0] $copy->{list}[1][0] ", $deep->{code}->(21), " @{[ map { ref } values %{{ a => [], }} ]}\n";
my @fibonacci = (0, 1);
push @fibonacci, $fibonacci[-1] + $fibonacci[-2] while @fibonacci <= 90;
print "$fibonacci[90] ", Math::BigInt->new(2)->bpow(100), " ", floor(-2.5), " ", 0xff, " ", oct("0b101"), "\n";
my $moment = timegm(0, 0, 23, 28, 1, 2024) + 25 * 3600;
print strftime("%Y-%m-%dT%H:%M:%SZ %a %j", gmtime $moment), "\n";
my $json = JSON::PP->new->canonical;
my $text = $json->encode({ b => [1, 2.5, undef, JSON::PP::true], a => "x" });
print "$text ", $json->decode($text)->{b}[1], "\n";
(my $swapped = 'user@host') =~ s/(?<user>\w+)@(\w+)/$2 at $+{user}/;
my @numbers = "a1b22c333" =~ /\d+/g;
print "$swapped @numbers ", "2024-02-29" =~ /^(\d+)-(\d+)/ ? $1 + $2 : 0, " ", ($text =~ tr/a-z//), "\n";
print substr(sha256_hex("abc"), 0, 16), " ", encode_base64("abc", ""), " ", length(decode("UTF-8", "\xc3\xbc")), "\n";
printf "%05.1f|%-6s|%x|%+d|%s\n", 3.14159, "left", 255, 7, join ":", unpack("A2 N", pack("A2 N", "ab", 258));
$Text::Wrap::columns = 20;
print wrap("", "  ", "a long line of many words"), "\n";
my ($one, @rest) = (1, 2, 3);
my @sorted = map { $_->[1] } sort { $a->[0] <=> $b->[0] } map { [length, $_] } qw(ccc a bb);
print "@rest[0, -1] @sorted ", (first { $_ > 1 } 1 .. 5), " ", wantarray() // "undef", "\n";
pipe(my $reader, my $writer) or die $!;
$| = 1;
if (!(my $pid = fork)) {
    print $writer "from a child\n";
    close $writer;
    POSIX::_exit(3);
}
close $writer;
print <$reader>;
wait;
print $? >> 8, " ", `echo child`;
local $SIG{ALRM} = sub { die "alarm\n" };
eval { Time::HiRes::alarm(0.02); select undef, undef, undef, 5; };
print "caught $@";
eval { die { code => 42 } };
print "$@->{code} ", (eval { my $x = 1 / 0; 1 } ? "" : $@ =~ /division by zero/ ? "division" : $@), "\n";
print while <DATA>;
__DATA__
data at the end
