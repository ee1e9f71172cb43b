# session-ruby.rb: the Ruby kernel of a session, on the descriptor that SANDBOX_RUN_KERNEL_FD names.
#
# Cells are evaluated in the binding of the top level, so local variables stay.  A signal reaches the
# main thread as an exception only while a cell runs.
require 'json'

module SandboxRunKernel
  LARGEST = 16 << 20
  LARGEST_TEXT = 1 << 20
  SHORT = 80
  HIGH = 200
  TOP = TOPLEVEL_BINDING
  MAIN = TOP.receiver
  OUT = $stdout.dup
  ERR = $stderr.dup

  module_function

  def start
    fd = Integer(ENV.delete('SANDBOX_RUN_KERNEL_FD'))
    first = IO.for_fd(fd, 'r+b')
    high = begin
      first.fcntl(1030, HIGH) # F_DUPFD_CLOEXEC
    rescue SystemCallError
      first.fcntl(1030, 10)
    end
    @channel = IO.for_fd(high, 'r+b')
    @channel.sync = true
    first.close
    @owner = Process.pid
    @known = TOP.local_variables + Kernel.global_variables
    $stdout.sync = $stderr.sync = OUT.sync = ERR.sync = true
    give_input
    watch
    send_frame('ready', 0, '-', { version: RUBY_VERSION, can: %w[check complete vars], pid: @owner })
    serve
  end

  def watch
    Signal.trap('INT') { @main.raise(Interrupt) if @running }
    @main = Thread.current
  end

  def send_frame(word, number, argument, value)
    return if Process.pid != @owner

    text = JSON.generate(value)
    text = JSON.generate({ 'text/plain' => "<#{text.bytesize} bytes, too many to show>" }) if text.bytesize > LARGEST
    @channel.write("#{word} #{number} #{argument} #{text.bytesize}\n".b + text.b)
  end

  def serve
    while (header = @channel.gets("\n", 128))
      word, number, argument, length = header.split
      payload = length.to_i.zero? ? +'' : @channel.read(length.to_i)
      break unless payload && payload.bytesize == length.to_i

      answer(word, number.to_i, argument, payload.force_encoding('UTF-8'))
    end
  end

  def answer(word, number, argument, payload)
    case word
    when 'execute' then return execute(number, payload)
    when 'check' then status, details = check(payload)
    when 'complete' then status, details = 'ok', complete(payload, argument.to_i)
    when 'vars' then status, details = 'ok', variables
    when 'input' then return # the cell that asked was interrupted meanwhile
    else status, details = 'invalid', { message: 'this kernel cannot do that' }
    end
    send_frame('answer', number, status, details)
  rescue StandardError => e
    send_frame('answer', number, 'invalid', { message: e.message })
  end

  # A line for the cell that runs: the session asks a person, when there is one; otherwise nil.
  def ask(prompt, hidden)
    return unless @running && Process.pid == @owner && Thread.current == @main

    send_frame('ask', @cell, '-', { prompt: prompt, hidden: hidden })
    while (header = @channel.gets("\n", 128))
      word, number, argument, length = header.split
      payload = length.to_i.zero? ? +'' : @channel.read(length.to_i)
      return argument == 'ok' ? "#{payload.force_encoding('UTF-8')}\n" : nil if word == 'input' && number.to_i == @cell
    end
  end

  # stdin of the cells.
  module Input
    def gets(*words, chomp: false)
      line = SandboxRunKernel.ask('', false)
      chomp ? line&.chomp : line
    end

    def getpass(prompt = nil)
      SandboxRunKernel.ask(prompt.to_s, true)&.chomp
    end

    def readline(...)
      gets(...) || raise(EOFError, 'end of file reached')
    end

    def each_line(chomp: false)
      while (line = gets(chomp: chomp))
        yield line
      end
      self
    end

    def readlines(chomp: false)
      [].tap { |all| each_line(chomp: chomp) { |line| all << line } }
    end

    def read(*)
      readlines.join
    end
  end

  def give_input
    $stdin.extend(Input)
    Kernel.define_method(:gets) { |*words, **options| $stdin.gets(*words, **options) }
    Kernel.define_method(:readline) { |*words, **options| $stdin.readline(*words, **options) }
    Kernel.send(:private, :gets, :readline)
  end

  def repair
    [[1, OUT], [2, ERR]].each do |number, saved|
      IO.for_fd(number, 'w', autoclose: false).stat
    rescue SystemCallError
      IO.for_fd(number, autoclose: false).reopen(saved) rescue nil
    end
    $stdout = OUT if $stdout.closed? rescue $stdout = OUT
    $stderr = ERR if $stderr.closed? rescue $stderr = ERR
  end

  def execute(number, code)
    repair
    watch
    @cell = number
    status, details = begin
      run(number, code)
    rescue Interrupt
      ['interrupted', {}]
    end
    exit!(0) if Process.pid != @owner # a child that the cell forked and that did not end
    [$stdout, $stderr].each { |stream| stream.flush rescue nil }
    send_frame('done', number, status, details)
    Kernel.exit(details[:code]) if status == 'exit'
  end

  def run(number, code)
    @running = true
    value = TOP.eval(code, "cell-#{number}", 1)
    TOP.local_variable_set(:_, value)
    text = value.inspect
    @running = false
    text = text[0, LARGEST_TEXT] + '...' if text.size > LARGEST_TEXT
    send_frame('display', number, '-', { 'text/plain' => text.scrub }) unless value.nil?
    ['ok', {}]
  rescue Interrupt
    @running = false
    complain("Interrupt\n")
    ['interrupted', {}]
  rescue SystemExit => e
    ['exit', { code: e.status }]
  rescue Exception => e # rubocop:disable Lint/RescueException: the cell's own
    @running = false
    ['error', describe(e, number)]
  ensure
    @running = false
  end

  def complain(text)
    ERR.write(text)
  rescue SystemCallError
    nil
  end

  # Writes an error as Ruby does, without the driver's own frames.
  def describe(error, number)
    places = (error.backtrace || []).take_while { |place| !place.include?('session-ruby.rb') }
    places = ["cell-#{number}:#{error.message[/^cell-\d+:(\d+):/, 1] || 1}"] if places.empty?
    message = error.message.to_s.scrub
    complain("#{places.first}: #{message} (#{error.class})\n" + places.drop(1).map { |p| "\tfrom #{p}\n" }.join)
    frames = places.first(50).map do |place|
      file, line, function = place.match(/\A(.*?):(\d+)(?::in [`'](.*)')?/)&.captures
      { file: file.to_s, line: line.to_i, function: function.to_s }
    end
    { type: error.class.name.to_s, message: message, frames: frames }
  end

  def check(code)
    RubyVM::InstructionSequence.compile(code)
    ['complete', {}]
  rescue SyntaxError => e
    open = /unexpected (end-of-input|end of file)|unterminated|expected an? `end`|expected a closing|can't find string/
    [e.message.match?(open) ? 'incomplete' : 'invalid', { indent: '' }]
  end

  def complete(code, cursor)
    text = code.byteslice(0, cursor).scrub
    object, word = text.match(/(?:([A-Za-z_@$][\w.@$:]*)\.)?([A-Za-z_@$]\w*[?!]?)?\z/)&.captures
    names = object ? TOP.eval(object).methods : TOP.local_variables + MAIN.methods + Object.constants
    matches = names.map(&:to_s).uniq.select { |name| name.start_with?(word.to_s) }.sort.first(500)
    { matches: word || object ? matches : [], start: cursor - word.to_s.bytesize }
  rescue StandardError
    { matches: [], start: cursor }
  end

  def variables
    names = TOP.local_variables - @known - [:_]
    { vars: names.map do |name|
      value = TOP.local_variable_get(name)
      text = value.inspect.scrub
      { name: name, type: value.class.name.to_s, size: text.bytesize,
        value: text.size > SHORT ? "#{text[0, SHORT - 3]}..." : text }
    end }
  end
end

SandboxRunKernel.start
