# A walk through the core and the standard library; every line of its output is known.
require "bigdecimal"
require "date"
require "digest"
require "erb"
require "json"
require "open3"
require "ostruct"
require "set"
require "stringio"
require "time"
require "zlib"

Point = Struct.new(:x, :y) do
  include Comparable
  def <=>(other) = x <=> other.x
  def to_s = "(#{x}, #{y})"
end

module Loud
  def speak = "#{super}!"
end

class Animal
  attr_reader :name
  @@made = 0
  def initialize(name) = (@name = name; @@made += 1)
  def self.made = @@made
  def speak = "#{name} speaks"
  def method_missing(called, *args) = called.end_with?("?") ? name.start_with?(called.to_s.chomp("?")) : super
  def respond_to_missing?(called, all = false) = called.end_with?("?") || super
  prepend Loud
end

words = "the quick brown fox jumps over the lazy dog the end".split
p words.tally.max_by { |_, count| count }, words.uniq.size, words.group_by(&:size).transform_values(&:count)
p [3, 1, 2].sort.reverse, (1..10).each_slice(4).to_a, (1..4).inject(:*), [1, [2, [3]]].flatten, %w[a b].zip([1, 2]).to_h
p (1..Float::INFINITY).lazy.map { |n| n * n }.select(&:even?).first(3), Set[1, 2] | Set[3]
puts Point.new(1, 2) < Point.new(3, 0), [Point.new(5, 1), Point.new(2, 2)].min
puts Animal.new("Rex").speak, Animal.made, Animal.new("Rex").R?
case { kind: "circle", size: { radius: 2 } }
in { kind: "circle", size: { radius: Integer => radius } } then puts "radius #{radius}"
end
fibonacci = Hash.new { |known, n| known[n] = n < 2 ? n : known[n - 1] + known[n - 2] }
puts fibonacci[90], 2**100, BigDecimal("0.1") + BigDecimal("0.2") == BigDecimal("0.3"), 3.to_r / 9, 255.to_s(2)
puts Time.utc(2024, 2, 28, 23).then { |t| (t + 25 * 3600).iso8601 }, Date.new(2024, 2, 28).next_day(2).strftime("%A %j")
text = JSON.generate({ "b" => [1, 2.5, nil, true], "a" => "ü" })
puts text, JSON.parse(text, symbolize_names: true)[:b][1]
puts "user@host".sub(/(?<user>\w+)@(?<host>\w+)/, '\k<host> at \k<user>'), "a1b22c333".scan(/\d+/).inspect
puts Digest::SHA256.hexdigest("abc")[0, 16], ["abc"].pack("m0"), Zlib::Inflate.inflate(Zlib::Deflate.deflate("squeezed"))
puts format("%05.1f|%-6s|%x|%+d", 3.14159, "left", 255, 7), ERB.new("<% 2.times do |i| %><%= i %>;<% end %>").result
queue = Queue.new
4.times.map { |n| Thread.new { queue << n * 10 } }.each(&:join)
p 4.times.map { queue.pop }.sort
fiber = Fiber.new { |x| y = Fiber.yield(x * 2); y + 1 }
p fiber.resume(5), fiber.resume(41)
reader, writer = IO.pipe
pid = fork { reader.close; writer.puts "from a child"; exit!(3) }
writer.close
Process.wait(pid)
puts reader.read, $?.exitstatus, Open3.capture2("tr a-z A-Z", stdin_data: "piped")[0]
begin
  begin
    Integer("12a")
  rescue ArgumentError
    raise "wrapped"
  ensure
    puts "ensured"
  end
rescue => error
  puts "#{error.class} #{error.message} #{error.cause.class}"
end
puts catch(:done) { 10.times { |n| throw :done, n if n > 3 } }, OpenStruct.new(a: 1).a, __method__.inspect, [1, 2, 3].frozen?
