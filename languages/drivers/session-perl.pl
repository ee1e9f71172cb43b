# session-perl.pl: the Perl kernel of a session, on the descriptor that SANDBOX_RUN_KERNEL_FD names.
#
# A lexical variable lives as long as its scope.  So the scope of a cell does not end: behind the
# cell's own code, the text that is evaluated goes on with the loop that reads the next cell, which is
# evaluated inside of it.  What has to be evaluated in that scope is given by next_code(), which sees
# by the state it is in how the last text ended.  A cell that dies leaves its scope: its own new
# lexical variables are gone, those of earlier cells are there.
package SandboxRunKernel;
use strict;
use warnings;
use Fcntl ();
use POSIX ();

my $LARGEST_TEXT    = 1 << 20;
my $SHORT           = 80;
my $F_DUPFD_CLOEXEC = 1030;
my $MOST_PLACES     = 16;
# What begins a statement that has no value.
my $STATEMENT = qr/\A\s*(?:print|say|printf|use|no|package|return|if|for|foreach|while|unless|until|BEGIN|END|format)\b/;
my ($channel, $owner, $out, $err);
my $state  = 'idle';
my $number = 0;
my ($waiting, $asked) = ('', '');
my (%lexical, %first, @queue);
our ($text, $value, $failure);

# Behind every cell.  Its variables have long names: they are seen by the cells.
my $LOOP = "\n;while (defined(\$SandboxRunKernel::text = SandboxRunKernel::next_code(\$\@))) "
    . "{ \$SandboxRunKernel::value = eval \$SandboxRunKernel::text; }\n1;";

sub start {
    my $fd = delete $ENV{SANDBOX_RUN_KERNEL_FD};
    open(my $first, '+<&=', $fd) or exit 125;
    my $high = fcntl($first, $F_DUPFD_CLOEXEC, 200) || fcntl($first, $F_DUPFD_CLOEXEC, 10) || $fd;
    open($channel, '+<&=', $high) or exit 125;
    close($first) if $high != $fd;
    fcntl($channel, Fcntl::F_SETFD(), Fcntl::FD_CLOEXEC());
    open($out, '>&', \*STDOUT);
    open($err, '>&', \*STDERR);
    $owner = $$;
    $SIG{INT} = 'IGNORE';
    %first = map { $_ => 1 } keys %main::;
    send_frame('ready', 0, '-', object(version => text(sprintf '%vd', $^V),
        can => '["check", "complete", "vars"]', pid => $$));
}

sub send_frame {
    my ($word, $n, $argument, $payload) = @_;
    return if $$ != $owner;
    my $frame = "$word $n $argument " . length($payload) . "\n$payload";
    while (length $frame) {
        my $sent = syswrite($channel, $frame);
        next if !defined $sent && $!{EINTR};
        POSIX::_exit(0) if !$sent;
        substr($frame, 0, $sent) = '';
    }
}

# A JSON text, of characters or of bytes.
sub text {
    my ($s) = @_;
    $s = '' if !defined $s;
    $s = "$s";
    utf8::decode($s) if !utf8::is_utf8($s); # bytes that are no UTF-8 stay Latin-1
    $s =~ s/(["\\])/\\$1/g;
    $s =~ s/([\x00-\x1f\x7f-\x{10ffff}])/my $c = ord $1; $c < 0x10000 ? sprintf('\\u%04x', $c)
        : sprintf('\\u%04x\\u%04x', 0xd800 + (($c - 0x10000) >> 10), 0xdc00 + (($c - 0x10000) & 0x3ff))/ge;
    return "\"$s\"";
}

sub object {
    my $json = '';
    while (my ($name, $json_value) = splice(@_, 0, 2)) {
        $json .= ($json ? ', ' : '') . "\"$name\": $json_value";
    }
    return "{$json}";
}

sub fill {
    my ($length) = @_;
    while (length($waiting) < $length) {
        my $n = sysread($channel, $waiting, 65536, length $waiting);
        next if !defined $n && $!{EINTR};
        return 0 if !$n;
    }
    return 1;
}

sub receive {
    my $end;
    while (($end = index($waiting, "\n")) < 0) {
        return if length($waiting) > 128 || !fill(length($waiting) + 1);
    }
    my ($word, $n, $argument, $length) = split ' ', substr($waiting, 0, $end);
    return if !fill($end + 1 + $length);
    my $payload = substr($waiting, $end + 1, $length);
    substr($waiting, 0, $end + 1 + $length) = '';
    return ($word, $n, $argument, $payload);
}

# What a cell has closed or replaced is there again for the next one.
sub repair {
    POSIX::dup2(fileno($out), 1) if !POSIX::fstat(1);
    POSIX::dup2(fileno($err), 2) if !POSIX::fstat(2);
    open(STDOUT, '>&=', 1) if !defined fileno(STDOUT) || fileno(STDOUT) != 1;
    open(STDERR, '>&=', 2) if !defined fileno(STDERR) || fileno(STDERR) != 2;
    select(STDERR);
    $| = 1;
    select(STDOUT);
    $| = 1;
    ($,, $\, $/, $") = (undef, undef, "\n", ' ');
    delete $SIG{__DIE__};
    $SIG{__WARN__} = \&warned;
    $SIG{INT} = 'IGNORE';
}

sub quoted {
    my ($s) = @_;
    return 'undef' if !defined $s;
    return $s if $s =~ /\A-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:e[-+]?\d+)?\z/i;
    $s =~ s/([\\'])/\\$1/g;
    return "'$s'";
}

sub dumped {
    my @values = @_;
    return quoted($values[0]) if @values == 1 && !ref $values[0];
    require Data::Dumper;
    my $all = @values == 1 ? $values[0] : \@values;
    my $d = Data::Dumper->new([$all])->Terse(1)->Sortkeys(1)->Useqq(0)->Maxdepth(20);
    my $short = $d->Indent(0)->Dump;
    my $shown = length($short) <= $SHORT ? $short : $d->Indent(1)->Dump;
    $shown =~ s/\s+\z//;
    $shown =~ s/\A\[(.*)\]\z/($1)/s if @values > 1;
    return $shown;
}

# Shows the value of a cell.
sub show {
    return if !@_ || (@_ == 1 && !defined $_[0]);
    my $shown = dumped(@_);
    $shown = substr($shown, 0, $LARGEST_TEXT) . '...' if length($shown) > $LARGEST_TEXT;
    send_frame('display', $number, '-', object('text/plain' => text($shown)));
}

# Where the last statement may begin, the last place first.
sub places {
    my ($code) = @_;
    return if $code =~ /(?:\A|;)\s*(?:#[^\n]*)?\s*\z/;
    my @places = (0);
    push @places, $+[0] while $code =~ /[;}\n]/g;
    @places = grep { substr($code, $_) =~ /\S/ && substr($code, $_) !~ $STATEMENT } reverse @places;
    splice @places, $MOST_PLACES if @places > $MOST_PLACES;
    return @places;
}

# The code with its last statement, which begins here, as a value that is shown.
sub showing {
    my ($code, $place) = @_;
    return substr($code, 0, $place) . ' SandboxRunKernel::show(' . substr($code, $place) . "\n)";
}

sub interrupted {
    die bless {}, 'SandboxRunKernel::Interrupt' if $$ == $owner;
    POSIX::_exit(130);
}

sub begin {
    my ($n, $code) = @_;
    repair();
    ($number, $asked) = ($n, $code);
    $lexical{$1} = 1 while $code =~ /\b(?:my|our|state)\s*([\$\@%]\w+)/g;
    while ($code =~ /\b(?:my|our|state)\s*\(([^()]*)\)/g) {
        $lexical{$_} = 1 for grep { /\A[\$\@%]\w+\z/ } split /\s*,\s*/, $1;
    }
    @queue = places($code);
    return probe();
}

# A text that says whether the value can be shown: only when that compiles.
sub probe {
    return run_text($asked) if !@queue;
    $state = 'probing';
    $SIG{__WARN__} = sub { };
    return "package main; sub {\n#line 1 \"cell-$number\"\n" . showing($asked, $queue[0]) . '}';
}

sub run_text {
    my ($code) = @_;
    $state = 'running';
    $SIG{INT} = \&interrupted;
    $SIG{__WARN__} = \&warned;
    ($!, $?) = (0, 0);
    return "package main;\n#line 1 \"cell-$number\"\n$code$LOOP";
}

# The text of a cell is compiled more than once.
sub warned {
    my ($message) = @_;
    print STDERR $message if $message !~ /\ASubroutine \S+ redefined at /;
}

sub finish {
    my ($error) = @_;
    # system() itself ignores the signal that ended its command.
    $error = bless {}, 'SandboxRunKernel::Interrupt' if !$error && ($? & 127) == POSIX::SIGINT();
    $SIG{INT} = 'IGNORE';
    POSIX::_exit(0) if $$ != $owner; # a child that the cell forked and that did not end
    $state = 'idle';
    repair();
    return send_frame('done', $number, 'ok', '{}') if !defined $error || (!ref $error && $error eq '');
    if (ref $error && ref $error eq 'SandboxRunKernel::Interrupt') {
        syswrite($err, "interrupted\n");
        return send_frame('done', $number, 'interrupted', '{}');
    }
    my $plain = ref($error) && ref($error) =~ /\A(?:HASH|ARRAY|SCALAR|CODE|REF)\z/;
    my $message = eval { $plain ? dumped($error) : "$error" };
    $message = 'an error without a text' if !defined $message;
    $message .= "\n" if $message !~ /\n\z/;
    $message =~ s/^.*SandboxRunKernel.*\n//mg if $message =~ /cell-\d+ line/;
    syswrite($err, utf8::is_utf8($message) ? do { my $m = $message; utf8::encode($m); $m } : $message);
    my @frames;
    push @frames, object(file => text($1), line => $2, function => '""') while $message =~ /at (\S+) line (\d+)/g;
    my ($short) = split /\n/, $message;
    my $type = ref $error ? ref $error : $message =~ /^syntax error|^Can't find string terminator|^Missing right/m
        ? 'SyntaxError' : 'die';
    send_frame('done', $number, 'error',
        object(type => text($type), message => text($short), frames => '[' . join(', ', @frames) . ']'));
}

my $OPEN = join '|', 'Missing right (?:curly|square)', "Can't find string terminator", 'at EOF\\b',
    '(?:Search pattern|Substitution pattern|Substitution replacement|Transliteration pattern) not terminated';

sub checked {
    my ($error) = @_;
    $state = 'idle';
    my $status = !$error || !ref $error && $error =~ /^Global symbol/ ? 'complete' : $error =~ /$OPEN/ ? 'incomplete' : 'invalid';
    send_frame('answer', $number, $status, '{"indent": ""}');
}

# Variables of cells: lexical ones, and those of package main that cells have made.
sub variables {
    my %found = map { $_ => 1 } keys %lexical;
    no strict 'refs';
    for my $name (grep { /\A[A-Za-z]\w*\z/ && !$first{$_} } keys %main::) {
        $found{"\$$name"} = 1 if defined ${"main::$name"};
        $found{"\@$name"} = 1 if @{"main::$name"};
        $found{"%$name"} = 1 if %{"main::$name"};
    }
    return sort keys %found;
}

sub complete {
    my ($n, $code, $cursor) = @_;
    my ($word) = substr($code, 0, $cursor) =~ /([\$\@%]?\w*)\z/;
    no strict 'refs';
    my @names = $word =~ /\A[\$\@%]/ ? variables()
        : (qw(bless chomp defined delete die each exists foreach grep join keys length local map package
            print printf push ref require return reverse say scalar shift sort splice split sprintf
            substr undef unless unshift values wantarray while),
        grep { defined &{"main::$_"} } keys %main::);
    my @matches = sort grep { length $word && index($_, $word) == 0 } @names;
    splice @matches, 500 if @matches > 500;
    send_frame('answer', $n, 'ok', object(matches => '[' . join(', ', map { text($_) } @matches) . ']',
        start => $cursor - length $word));
}

# Names are looked at in the scope of the cells, one text after the other.
sub look {
    my ($n) = @_;
    ($number, $asked, $state) = ($n, '', 'looking');
    @queue = variables();
    return looked();
}

sub looked {
    if (@queue) {
        my $name = $queue[0];
        return "package main; no strict; no warnings; \\$name";
    }
    $state = 'idle';
    send_frame('answer', $number, 'ok', "{\"vars\": [$asked]}");
    return;
}

sub add_looked {
    my $name = shift @queue;
    return if !ref $value || (ref $value eq 'SCALAR' && !defined $$value);
    my $kind = $name =~ /\A\@/ ? 'array' : $name =~ /\A%/ ? 'hash' : ref $$value || 'scalar';
    my $shown = $name =~ /\A\$/ ? dumped($$value) : dumped($value);
    my $size = length $shown;
    $shown = substr($shown, 0, $SHORT - 3) . '...' if $size > $SHORT;
    $shown =~ s/\s+/ /g;
    $asked .= ($asked ? ', ' : '')
        . object(name => text($name), type => text($kind), size => $size, value => text($shown));
}

# The next text to evaluate; undef ends the kernel.
sub next_code {
    my ($error) = @_;
    POSIX::_exit(0) if $$ != $owner;
    if ($state eq 'probing') {
        return run_text(showing($asked, $queue[0])) if !$error;
        shift @queue;
        return probe();
    } elsif ($state eq 'running') {
        finish($error);
    } elsif ($state eq 'checking') {
        checked($error);
    } elsif ($state eq 'looking') {
        add_looked();
        my $more = looked();
        return $more if defined $more;
    }
    while (my ($word, $n, $argument, $payload) = receive()) {
        if ($word eq 'execute') {
            return begin($n, $payload);
        } elsif ($word eq 'check') {
            ($number, $state) = ($n, 'checking');
            $SIG{__WARN__} = sub { };
            return "package main; sub {\n#line 1 \"check\"\n$payload\n}";
        } elsif ($word eq 'complete') {
            complete($n, $payload, $argument);
        } elsif ($word eq 'vars') {
            my $more = look($n);
            return $more if defined $more;
        } else {
            send_frame('answer', $n, 'invalid', '{"message": "this kernel cannot do that"}');
        }
    }
    $state = 'over';
    POSIX::_exit(0);
}

END {
    if (defined $owner && $$ == $owner && $state eq 'running') {
        my $code = $?;
        $state = 'over';
        close STDOUT;
        send_frame('done', $number, 'exit', "{\"code\": $code}");
        $? = $code;
    }
}

sub serve {
    eval "package main; no strict; use warnings; use feature ':5.10';$LOOP";
}

start();
serve();
