# perl-fetch.pl CPANM SHELF OPTION... MODULE...: fetches what cpanm would install into SHELF, which is a
# mirror of CPAN afterwards.
#
# cpanm asks the code of a module what the module needs.  Here the META files say it, and no code of a
# module runs; only a cpanfile, which is a program of the project, does.
use strict;
use warnings;

my ($cpanm, $shelf) = splice @ARGV, 0, 2;
my %found;

require $cpanm;

package Fetch;
our @ISA = ('App::cpanminus::script');

sub resolve_name {
    my ($self, $module, @more) = @_;
    my $dist = $self->SUPER::resolve_name($module, @more);

    if ($dist && $dist->{pathname} && $module !~ m{/}) {
        my $version = $dist->{module_version} || $dist->{version} || 'undef';

        $found{$module} = "$version $dist->{pathname}";
        $found{ $dist->{module} } = "$version $dist->{pathname}" if $dist->{module};
    }
    return $dist;
}

# In the directory of a module.  What it brings under the names of results is not believed.
sub configure {
    my ($meta) = grep { -f } qw(META.json META.yml);

    unlink qw(MYMETA.json MYMETA.yml Makefile Build);
    if ($meta) {
        require File::Copy;
        File::Copy::copy($meta, "MY$meta") or die "$meta: $!\n";
    } else {
        _write('MYMETA.json', '{"abstract": "x", "author": ["x"], "dynamic_config": 0, "generated_by": "x", ' .
            '"license": ["unknown"], "meta-spec": {"version": 2}, "name": "x", "release_status": "stable", "version": "0"}');
    }
    _write($_, '') for qw(Makefile Build);
    return 1;
}

sub _write {
    my ($name, $text) = @_;

    open my $file, '>', $name or die "$name: $!\n";
    print $file $text;
    close $file or die "$name: $!\n";
}

sub extract_packages { return {} }    # it would run the lines that set versions
sub unsatisfied_deps { return () }    # nothing is installed yet
sub build { return 1 }
sub test { return 1 }
sub install { return 1 }
sub save_meta { }

package main;

if (open my $file, '<', "$shelf/list") {    # of an earlier call
    chomp, /^(\S+) (.*)/ && ($found{$1} = $2) while <$file>;
}

my $app = Fetch->new;
$app->parse_options('--save-dists', $shelf, '--local-lib-contained', "$shelf/nothing", @ARGV);
my $done = $app->doit;

require IO::Compress::Gzip;
mkdir "$shelf/modules" or -d "$shelf/modules" or die "$shelf: $!\n";
my $lines = join '', map { "$_ $found{$_}\n" } sort keys %found;
Fetch::_write("$shelf/list", $lines);
my $list = "File: 02packages.details.txt\nLine-Count: " . keys(%found) . "\n\n$lines";
IO::Compress::Gzip::gzip(\$list => "$shelf/modules/02packages.details.txt.gz") or die "$shelf: cannot write the list\n";
exit $done;
