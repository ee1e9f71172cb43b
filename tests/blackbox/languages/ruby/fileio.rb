# Writes, appends, reads, renames, lists and removes in the work directory.
require "tempfile"

Dir.mkdir("notes")
File.write("notes/one.txt", "alpha\nbeta\n")
File.open("notes/one.txt", "a") { |file| file.puts "gamma" }
lines = File.readlines("notes/one.txt", chomp: true)
puts "#{lines.size} #{lines.join(',')}"
File.binwrite("raw.bin", (0..255).to_a.pack("C*"))
puts "#{File.size('raw.bin')} #{File.binread('raw.bin').bytes.sum}"
File.rename("notes/one.txt", "notes/two.txt")
puts Dir.children("notes")
File.delete("notes/two.txt")
puts Dir.children("notes").size
Tempfile.create("x") { |file| file.write("scratch"); file.rewind; puts file.read }
