# Runs prove from outside the project and writes down which tests ran. Each test script runs in a process of its own, so
# none of the project's code runs here; the key is read and removed before the first of them starts.
use strict;
use warnings;
use App::Prove;
use Cwd qw(abs_path);
use File::Find;
use JSON::PP;
use TAP::Harness;

my $place = '/silas/report';
open my $file, '<', "$place/key" or die "no key: $!";
my $key = <$file>;
close $file;
unlink "$place/key" or die "the key stays: $!";

my (@tests, %files);
my $make_parser = \&TAP::Harness::make_parser;
{
    no warnings 'redefine';
    *TAP::Harness::make_parser = sub {
        my ($self, $job) = @_;
        my ($parser, $session) = $make_parser->(@_);
        my $name = $job->filename;
        $files{ abs_path($name) // $name } = 1;
        # Sub-tests are indented, and come before the test that they are parts of.
        my @parts;
        my $belong_to = sub {
            my ($indent, $test) = @_;
            $_->{name} = "$test > $_->{name}", $_->{indent} = $indent for grep { $_->{indent} > $indent } @parts;
        };
        $parser->callback(unknown => sub {
            my ($indent, $not, $part) = $_[0]->raw =~ /^(\s+)(not )?ok((?: +(?:\d|-).*)?)$/ or return;
            my $is_skipped = $part =~ s/\s#\s*(?:skip|todo).*//i;
            my $verdict = $is_skipped ? 'skipped' : $not ? 'failed' : 'passed';
            $part =~ s/^ +//;
            $belong_to->(length $indent, $part);
            push @parts, { indent => length $indent, name => $part, verdict => $verdict };
        });
        $parser->callback(test => sub {
            my ($test) = @_;
            my $is_skipped = $test->has_skip || $test->has_todo;
            my $verdict = $is_skipped ? 'skipped' : $test->is_ok ? 'passed' : 'failed';
            my $called = $test->number . ' ' . $test->description;
            $belong_to->(0, $called);
            push @tests, map { [ "$name > $_->{name}", $_->{verdict} ] } @parts;
            push @tests, [ "$name > $called", $verdict ];
            @parts = ();
        });
        return ($parser, $session);
    };
}

# Modules of the project that are called like one that Perl would find elsewhere. Directly below a directory of modules a name
# has one part; further down it has more, and where the directory of modules begins is not known.
my @elsewhere = grep { !ref && m{^/} } @INC;
my %libraries = map { ($_ => 1) } '.', 'lib', 't/lib', map { /^-I(.+)/ ? $1 : () } @ARGV;
sub shadows {
    my ($path) = @_;
    my @parts = split m{/}, $path;
    for my $at (0 .. $#parts) {
        my $library = $at ? join('/', @parts[0 .. $at - 1]) : '.';
        next if $at == $#parts && !$libraries{$library};
        my $name = join '/', @parts[$at .. $#parts];
        return 1 if grep { -e "$_/$name" } @elsewhere;
    }
    return 0;
}

my %shadows;
sub look_for_shadows {
    my $wanted = sub {
        return if !/\.pm\z/;
        my $path = $File::Find::name;
        $path =~ s{^\./}{};
        $shadows{ abs_path($File::Find::name) // $path } = 1 if shadows($path);
    };
    find({ wanted => $wanted, no_chdir => 1 }, '.');
}

$files{ abs_path('.proverc') } = 1 if -e '.proverc';
my $prove = App::Prove->new;
$prove->process_args(@ARGV);
my $code = $prove->run ? 0 : 1;
look_for_shadows();
open my $report, '>', "$place/report.json" or die "no report: $!";
print {$report} encode_json({ key => $key, exit => $code, tests => \@tests, files => [ sort keys %files ], shadows => [ sort keys %shadows ] });
close $report;
exit $code;
