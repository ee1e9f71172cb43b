# The lines of the program at which its calls stand: for r-start.R, whose `problem`, `depth` and
# `lines` it uses.
#
# Rscript keeps no lines, so the program is parsed anew, and each call of the stack is looked for in
# the function that made it.  A call that stands there twice has no certain line.
program <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])

say <- function(line, call) {
  text <- if (is.null(call)) "" else paste(" in", strtrim(deparse(call, nlines = 1)[1], 80))
  lines <<- c(lines, paste0("  at ", program, ":", line, text, "\n"))
}

# Calls visit(part, line, of) for each part of an expression; `of` is the function that has it, or
# NULL.
walk <- function(part, line, of, visit) {
  if (missing(part)) return()
  visit(part, line, of)
  if (!is.call(part)) return()
  if (identical(part[[1]], as.name("function"))) return(walk(part[[3]], line, part, visit))
  lines <- attr(part, "srcref")
  for (i in seq_along(part)) {
    here <- if (!is.null(lines) && i <= length(lines)) lines[[i]][1] else line
    if (is.call(part[[i]]) || is.name(part[[i]])) walk(part[[i]], here, of, visit)
  }
}

# The only line in `of` of what `test` accepts.  NULL: there is none, or several.
line_of <- function(test, of) {
  found <- integer()
  visit <- function(part, line, where)
    if (same_function(where, of) && test(part)) found <<- c(found, line)
  for (i in seq_along(parsed)) walk(parsed[[i]], starts[[i]][1], NULL, visit)
  if (length(unique(found)) == 1) found[1]
}

same_function <- function(where, of) {
  if (is.null(where) || is.null(of)) is.null(where) && is.null(of)
  else identical(strip(where[[3]]), strip(body(of)))
}

strip <- function(part) {
  if (!is.call(part)) return(part)
  attributes(part) <- NULL
  if (identical(part[[1]], as.name("function"))) part <- part[1:3]
  for (i in seq_along(part))
    if (!identical(part[[i]], quote(expr = )) && is.call(part[[i]])) part[[i]] <- strip(part[[i]])
  part
}

# Where the problem is: its call, or the name that is not there.
name <- sub("^object '([^']+)' not found$", "\\1", conditionMessage(problem))
call <- conditionCall(problem)
at_fault <- function(part) {
  if (name != conditionMessage(problem)) is.name(part) && identical(as.character(part), name)
  else is.call(part) && is.call(call) && identical(strip(part), strip(call))
}

wrong <- NULL
parsed <- tryCatch(parse(program, keep.source = TRUE), error = function(problem) {
  wrong <<- conditionMessage(problem)
  NULL
})
place <- regmatches(wrong, regexec(":([0-9]+):[0-9]+: ", wrong))
if (length(place) && length(place[[1]]) == 2) {
  say(place[[1]][2], NULL)
} else if (!is.null(parsed)) {
  starts <- attr(parsed, "srcref")
  frames <- sys.calls()
  # R's own call of the handler is no call of the program.
  while (depth > 0 && identical(frames[[depth]][[1]], as.name(".handleSimpleError"))) depth <- depth - 1
  count <- depth
  functions <- lapply(seq_len(count), sys.function)
  makers <- c(list(NULL), functions)
  line <- line_of(at_fault, makers[[count + 1]])
  if (!is.null(line)) say(line, if (count) frames[[count]])
  for (k in rev(seq_len(count))) {
    wanted <- strip(frames[[k]])
    line <- line_of(function(part) is.call(part) && identical(strip(part), wanted), makers[[k]])
    if (!is.null(line)) say(line, if (k > 1) frames[[k - 1]])
  }
}
