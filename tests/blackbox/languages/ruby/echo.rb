# Says what it was given: arguments, one variable, stdin line by line.
puts "args: " + ARGV.map { |word| "[#{word}]" }.join
puts "GREETING: #{ENV.fetch('GREETING', 'unset')}"
$stdin.each_line.with_index(1) { |line, number| puts "#{number}: #{line.chomp}" }
