# Ends in the way that its argument names.
def inner(values)
  values.fetch(:missing).length
end

def outer
  inner({ present: 1 })
end

$stdout.sync = true
case ARGV[0]
when "exit"
  puts "leaving"
  warn "complaint"
  exit 7
when "error"
  puts "before"
  outer
when "loop"
  puts "started"
  loop {}
when "memory"
  puts "started"
  kept = []
  loop { kept << "x" * (4 << 20) }
when "flood"
  loop { puts "x" * 99 }
end
