require_relative "part"

puts Part.join(File.read("words.txt").split)
