# Says what it was given: arguments, one variable, stdin line by line.
words <- commandArgs(trailingOnly = TRUE)
cat("args: ", paste0("[", words, "]", recycle0 = TRUE, collapse = ""), "\n", sep = "")
cat("GREETING: ", Sys.getenv("GREETING", "unset"), "\n", sep = "")
lines <- readLines(file("stdin"), warn = FALSE)
for (number in seq_along(lines)) cat(number, ": ", lines[number], "\n", sep = "")
