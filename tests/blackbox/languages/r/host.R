# Tries to read the files that it is given, then to connect to the port that comes last.
words <- commandArgs(trailingOnly = TRUE)
try_to <- function(action, yes, no) {
  cat(suppressWarnings(tryCatch({ action; yes }, error = function(e) no)), "\n", sep = "")
}
for (path in head(words, -1)) try_to(readLines(path), "read", "refused")
try_to(socketConnection("127.0.0.1", as.integer(tail(words, 1)), timeout = 5, open = "r+"), "connected", "no connection")
