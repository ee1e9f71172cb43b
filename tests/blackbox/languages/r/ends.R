# Ends in the way that its argument names.
inner <- function(values) {
  stop("nothing is missing")
}

outer_call <- function() {
  inner(list(present = 1))
}

how <- commandArgs(trailingOnly = TRUE)[1]
if (how == "exit") {
  cat("leaving\n")
  message("complaint")
  quit(status = 7)
} else if (how == "error") {
  cat("before\n")
  outer_call()
} else if (how == "loop") {
  cat("started\n")
  repeat {}
} else if (how == "memory") {
  cat("started\n")
  kept <- list()
  repeat kept[[length(kept) + 1]] <- rep(1, 5e5)
} else {
  repeat cat(strrep("x", 99), "\n", sep = "")
}
