puts "Hello, world"
