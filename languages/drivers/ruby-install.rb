# Installs gems: those of the words, and those of a Gemfile in the current directory.
#
# ruby-install.rb DIRECTORY [NAME[@VERSION]]...
#
# Speaks only when something fails, and then with RubyGems' own words.
require "fileutils"
require "socket"
require "tmpdir"
require "rubygems/gem_runner"
require "rubygems/request_set"

DEFAULT_SOURCE = %r{https?://(index\.)?rubygems\.org/?}.freeze
directory, *words = ARGV

# Addresses of a Gemfile are asked besides the configured ones.  Nearly every Gemfile names the
# default one, which a mirror of the configuration replaces.
Gem::RequestSet::GemDependencyAPI.prepend(Module.new do
  def source(url)
    url = url.to_s
    Gem.sources << url unless DEFAULT_SOURCE.match?(url)
  end
end)

# Extensions are built after everything is fetched, without a network; plugins of gems are code, too,
# and are not loaded.
$waiting = []
Gem::Installer.prepend(Module.new do
  def build_extensions
    $waiting << self unless spec.extensions.empty?
  end

  def load_plugin; end

  def build_now
    Gem::Ext::Builder.new(spec, Array(@build_args)).build_extensions
  end
end)

def close_network
  done = begin
    Addrinfo.getaddrinfo("close.sandbox-run.internal", nil, :INET)
  rescue SocketError
    []
  end
  abort "the network could not be given back, so no extension of a gem was built" if done.none? { |one| one.ip_address == "127.0.0.1" }
end

def build_extensions
  return if $waiting.empty?
  close_network
  $waiting.each(&:build_now)
rescue Gem::Ext::BuildError => problem
  abort problem.message
end

# NAME, NAME@VERSION and NAME@>=VERSION in RubyGems' spelling.
def wanted(word)
  name, version = word.split("@", 2)
  unless name.match?(/\A[A-Za-z0-9][A-Za-z0-9._-]*\z/) && (version.nil? || version.match?(/\A[0-9A-Za-z.<>=~! -]+\z/))
    abort "'#{word}' is no gem: write NAME or NAME@VERSION"
  end
  version && version != "latest" ? "#{name}:#{version}" : name
end

# The lock names the addresses of its gems.
def bring_lists(to)
  FileUtils.cp("Gemfile", to)
  return unless File.exist?("Gemfile.lock")
  mirror = Gem.sources.first.to_s
  File.write(File.join(to, "Gemfile.lock"),
             File.read("Gemfile.lock").gsub(/^( *remote: )#{DEFAULT_SOURCE}$/) { $1 + mirror })
end

def install(directory, *more)
  Gem::DefaultUserInteraction.ui = Gem::StreamUI.new(File.open(File::NULL), File.open(File::NULL, "w"), $stderr, false)
  Gem::GemRunner.new.run(["install", "--no-document", "--no-user-install", "--install-dir", directory,
                          "--env-shebang", *more])
rescue Gem::SystemExitException => ended
  exit ended.exit_code unless ended.exit_code.zero?
end

gems = words.map { |word| wanted(word) }
if ENV["PROJECT"] && File.exist?("Gemfile") # it may ask for the gemspec beside it, which reads the project's files
  Dir.chdir(ENV["PROJECT"]) { install(directory, "--file", "Gemfile") }
elsif File.exist?("Gemfile")
  Dir.mktmpdir do |scratch|
    bring_lists(scratch)
    Dir.chdir(scratch) { install(directory, "--file", "Gemfile") }
  end
end
install(directory, *gems) unless gems.empty?
build_extensions
%w[cache doc build_info].each { |name| FileUtils.rm_rf(File.join(directory, name)) }
