# R tells no line numbers of a program that stops.  Its words stay as they are; after them come the
# lines of the calls, innermost first, as far as they are certain.
#
# Nothing of this is in the way of a program that does not stop, or that catches its errors:
# r-trace.R is read when R itself handles one.
if (exists("globalCallingHandlers", baseenv())) local({
  trace <- file.path(dirname(Sys.getenv("R_PROFILE_USER")), "r-trace.R")
  last <- NULL
  Sys.unsetenv("R_PROFILE_USER")
  globalCallingHandlers(error = function(problem) {
    depth <- sys.nframe() - 1
    lines <- character()
    try(suppressWarnings(source(trace, local = TRUE)), silent = TRUE)
    # R has yet to report the problem and to end.
    last <<- new.env()
    reg.finalizer(last, function(...) cat(lines, sep = "", file = stderr()), onexit = TRUE)
  })
})
