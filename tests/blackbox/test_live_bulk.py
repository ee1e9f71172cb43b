"""Perl and Ruby in the middle of many lines: the bytes of a program that itself has every print written, in its order."""
import signal
import subprocess

import pytest

import language_tables
import live_programs
from live_programs import read_until
from support import result_of
from waiting import SOON, started, wait_until

MANY = {"perl": 'print "line $_\\n" for 1..2000;\n', "ruby": '2000.times { |i| puts "line #{i}" }\n'}
EACH_PRINT = {"perl": "$| = 1;", "ruby": "$stdout.sync = true;"}

PERL = {
    "names": 'print STDERR join(",", map { $_ // "-" } PerlIO::get_layers(STDOUT, details => 1)), " ", fileno(STDOUT), " $|";',
    "place": 'print STDERR tell(STDOUT), ","; print "x" x 100, "\\n"; print STDERR tell(STDOUT); print "y\\n"; seek(STDOUT, 0, 0);'
             ' print STDERR tell(STDOUT), " ", 0 + $!;',
    "utf-8": 'binmode(STDOUT, ":utf8"); print "\\x{20ac} $_\\n" for 1..2000; binmode(STDOUT); print "\\xe4\\n" for 1..2000;',
    "encoding": 'binmode(STDOUT, ":encoding(UTF-16LE)"); print "a\\x{20ac} $_\\n" for 1..2000; binmode(STDOUT, ":pop");'
                ' print "plain $_\\n" for 1..2000; binmode(STDOUT, ":crlf"); print "ends $_\\n" for 1..2000;',
    "encoding first": 'binmode(STDOUT, ":encoding(UTF-8)"); print "a\\x{20ac} $_\\n" for 1..2000; binmode(STDOUT, ":pop"); print "b\\n";',
    "lists": 'use feature "say"; { local ($,, $\\) = ("-", "!\\n"); print 1..50 for 1..500; } say for 1..2000; printf "%05d\\n", $_ for 1..2000;'
             ' our $v; format STDOUT =\n@>>>>> @<<<<\n$v, "x"\n.\nfor (1..500) { $v = $_; write; }',
    "lengths": 'print "x" x $_, "\\n" for 0..70, 4085..4105, 8180..8200, 32760..32770; print "y", "z" x 5000, "\\n" for 1..300;',
    "beside": 'for (1..500) { print "a $_\\n"; syswrite(STDOUT, "b $_\\n"); print STDERR "."; }',
    "alias": 'open(my $h, ">&=", 1); select($h); $| = 1; select(STDOUT); for (1..1000) { print "a $_\\n"; print $h "b $_\\n"; }',
    "cleared": '{ local $| = 0; print "a", "b $_\\n" for 1..3000; } print "c $_\\n" for 1..2000; $| = 0; print "d $_\\n" for 1..10;',
    "cleared first": '$| = 0; print "d $_\\n" for 1..200000; print "x"; system("echo child"); print "e $_\\n" for 1..3000;',
    "closed": 'print STDERR close(STDOUT), print("lost\\n") ? "yes" : "no"; open(STDOUT, ">", "/tmp/f"); print "f\\n" for 1..2000; close STDOUT;'
              ' print STDERR -s "/tmp/f";',
    "in memory": 'open(my $keep, ">&", *STDOUT); close STDOUT; my $m = ""; open(STDOUT, ">", \\$m); print "m $_\\n" for 1..2000; close STDOUT;'
                 ' open(STDOUT, ">&", $keep); print length $m, "\\n"; print "n $_\\n" for 1..2000;',
    "threads": 'use threads; threads->create(sub { print "t $_\\n" for 1..2000 })->join for 1..2; print "u $_\\n" for 1..2000;',
    "handler": '$SIG{ALRM} = sub { print "" }; use Time::HiRes; Time::HiRes::ualarm(500, 500); print "h $_\\n" for 1..200000; Time::HiRes::ualarm(0);',
    "killed": 'print "half"; kill "KILL", $$;',
    "died": 'print "one", "two"; die "so\\n";',
}

RUBY = {
    "lists": 'puts((0...3000).to_a, [1, [2, nil]]); print "a", "b", "\\n"; $stdout << "c" << 1 << "\\n"; p 1, "x"; putc ?z; printf("%05d\\n", 3)\n'
             '2000.times { |i| $stdout.write("w", i, "\\n") }',
    "numbers": '[0, -1, 2**61, 2**62 - 1, -2**62, 2**62, 2**70, 1.5, -0.0, 10r, 2i, :a, nil, true, [1, [2, [3]]], []].each { |n| puts n; $stdout.puts n, n }\n'
               'puts; puts []; a = [1]; a << a; puts a, 1, "x", 2, nil, "", "l\\n", 3; warn puts(1).inspect; ($, , $\\ = "-", "!"); 2000.times { |i| puts i - 1000 }',
    "numbers encoded": '$stdout.set_encoding("UTF-16LE"); 999.times { |i| puts i }; $stdout.set_encoding("UTF-8", crlf_newline: true); 999.times { |i| puts i }\n'
                       '$stdout.binmode; 999.times { |i| puts i }',
    "numbers by to_s": 'class Integer; def to_s(*) = "<#{fdiv(2)}>"; end; 999.times { |i| puts i, [i] }',
    "numbers refined": 'module R; refine(Integer) { def to_s = "r" }; end; using R; 999.times { |i| puts i, "#{i}" }',
    "numbers by to_str": '$n = 0; class Integer; def to_str = ($n += 1; "s"); end; 999.times { |i| puts i }; warn $n',
    "numbers by to_ary": '$n = 0; class Integer; def to_ary = ($n += 1; [:a, 1.5]); end; 999.times { |i| puts i }; warn $n',
    "numbers missing": '$n = 0; class Integer; def respond_to_missing?(m, a) = ($n += 1; m == :to_ary); def method_missing(m) = [m]; end\n'
                       '999.times { |i| puts i }; warn $n',
    "numbers written": 'def $stdout.write(*all) = super("[", *all.map(&:to_s), "]"); 999.times { |i| puts i, [i] }',
    "numbers of a class": 'class IO; alias old write; def write(*all) = old(all.length.to_s, *all); end; 999.times { |i| puts i, [i] }',
    "numbers elsewhere": 'require "stringio"; s = StringIO.new; 999.times { |i| s.puts i, [i] }; $stdout = s; puts 5; $stdout = STDOUT; puts s.string\n'
                         'File.open("/tmp/f", "w") { |f| 999.times { |i| f.puts i } }; puts File.read("/tmp/f"); $stderr.puts 7',
    "numbers closed": 'begin; $stdout.freeze; puts 1; rescue => e; warn e.message; end; begin; STDOUT.close; puts 1; rescue IOError => e; warn e.message; end',
    "lengths": '[*0..70, *4085..4105, *8180..8200, *32760..32770].each { |n| puts "x" * n }; 300.times { $stdout.write("y", "z" * 5000, "\\n") }',
    "beside": '500.times { |i| puts "a #{i}"; $stdout.syswrite("b\\n"); $stdout.write_nonblock("c\\n"); $stderr.print "." }',
    "locked": '200.times { |i| $stdout.flock(File::LOCK_EX); puts "a #{i}"; $stdout.flock(File::LOCK_UN) }\n2000.times { puts "b" }',
    "cleared": '$stdout.sync = false; 3000.times { |i| puts "d #{i}" }; $stdout.flush; $stdout.sync = true; 3000.times { |i| print "e #{i}\\n" }',
    "closed": 'begin; $stdout.close; puts "lost"; rescue IOError => e; warn e.message; end',
    "encoding": '$stdout.set_encoding("UTF-16LE"); 2000.times { |i| puts "\\u20ac #{i}" }',
    "threads": '4.times.map { Thread.new { 3000.times { puts "same" } } }.each(&:join); 2000.times { puts "b" }',
    "raised": 'require "timeout"\nbegin; Timeout.timeout(0.05) { loop { print "" } }; rescue Timeout::Error; warn "late"; end; puts "after"',
    "handler": 'n = 0; trap("USR1") { n += 1 }; 2000.times { |i| puts "k #{i}"; Process.kill("USR1", $$) if i % 100 == 0 }; sleep 0.001 until n > 0',
    "killed": 'print "half"; Process.kill("KILL", $$); sleep',
}

WAYS = [("perl", way) for way in PERL] + [("ruby", way) for way in RUBY]


@pytest.mark.parametrize("language, way", WAYS)
def test_the_bytes_are_those_of_a_program_that_writes_each_print(root, language, way):
    language_tables.need(language_tables.TABLES[language], "root")
    code = {"perl": PERL, "ruby": RUBY}[language][way]
    results = [result_of("run", *options, "--lang", language, "--code", first + MANY[language] + code)
               for options, first in ((("--buffered",), EACH_PRINT[language]), ((), ""))]
    wanted, ours = ({name: result[name] for name in ("stdout", "stdout_encoding", "stderr", "outcome", "exit_code", "signal")}
                    for result in results)
    assert ours == wanted and wanted["stdout"]


def test_perl_collects_a_print_before_its_own_buffer_has_it(root):
    """The one difference: a print after $| was cleared is not held back by Perl."""
    language_tables.need(language_tables.TABLES["perl"], "root")
    code = MANY["perl"] + '$| = 0; print "print\\n"; syswrite(STDOUT, "syswrite\\n");'
    result = result_of("run", "--lang", "perl", "--code", code)
    assert result["stdout"].endswith("line 2000\nprint\nsyswrite\n")


RUBY_STUCK = r"""
n = 0
printing = Thread.new { 100_000.times { puts "x" * 99; n += 1 } }
last = nil
until n > 0 && n == last
  last = n
  sleep 0.1
end
Dir.mkdir("/shared/alive")
printing.join
"""


def test_threads_of_ruby_go_on_while_one_waits_for_the_reader(root, folder):
    """A line that does not fit must not be waited for with the lock that Ruby's threads share."""
    language_tables.need(language_tables.TABLES["ruby"], "root")
    with started("run", "-v", f"{folder}:/shared:rw", "--lang", "ruby", "--code", RUBY_STUCK,
                 stderr=subprocess.DEVNULL) as process:
        assert wait_until((folder / "alive").exists, live_programs.SECONDS)
        assert len(process.stdout.read()) == 100_000 * 100


BUSY = {
    "perl": MANY["perl"] + 'print "l", "ist $_\\n" for 1..2000; 1 while 1;',
    "ruby": MANY["ruby"] + '2000.times { |i| print "l", "ist #{i + 1}\\n" }; loop {}',
}


@pytest.mark.parametrize("language", BUSY)
def test_the_last_line_arrives_although_the_program_then_only_computes(caller, language):
    language_tables.need(language_tables.TABLES[language], caller)
    with started("run", "--lang", language, "--code", BUSY[language], caller=caller) as process:
        assert read_until(process.stdout, b"list 2000\n").count(b"\n") == 4000
        process.send_signal(signal.SIGTERM)
        process.wait(SOON)
