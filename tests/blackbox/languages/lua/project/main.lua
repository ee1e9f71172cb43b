local shapes = require("lib.shapes")

io.write(shapes.name, " ", shapes.area(2, 3), " ", io.open("data/words.txt"):read("a"))
