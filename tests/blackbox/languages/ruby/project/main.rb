require_relative "lib/shapes"

puts "#{Shapes::NAME} #{Shapes.area(2, 3)} #{File.read('data/words.txt')}"
