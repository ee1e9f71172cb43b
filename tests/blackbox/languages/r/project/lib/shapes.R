name <- "circle"
area <- function(width, height) width * height
