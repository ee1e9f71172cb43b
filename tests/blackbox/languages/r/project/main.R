say <- function(...) writeLines(paste(c(...), collapse = " "))
shapes <- new.env()
sys.source("lib/shapes.R", envir = shapes)
say(shapes$name, shapes$area(2, 3), readLines("data/words.txt"))
