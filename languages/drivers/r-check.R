# Parses every file named on the command line and runs none.
right <- TRUE
for (name in commandArgs(trailingOnly = TRUE)) {
  tryCatch(parse(name, keep.source = FALSE), error = function(problem) {
    message("Error: ", conditionMessage(problem))
    right <<- FALSE
  })
}
quit(status = if (right) 0 else 1)
