source("part.R")
cat(joined(scan("words.txt", "", quiet = TRUE)), "\n", sep = "")
