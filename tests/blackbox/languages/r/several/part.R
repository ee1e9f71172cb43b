joined <- function(words) paste(words, collapse = "+")
