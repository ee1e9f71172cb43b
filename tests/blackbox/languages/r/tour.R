# A walk through the base packages; every line of its output is known.
say <- function(...) writeLines(paste(c(...), collapse = " "))
show <- function(x) writeLines(trimws(capture.output(print(x)), "right"))
words <- strsplit("the quick brown fox jumps over the lazy dog the end", " ")[[1]]
counts <- sort(table(words), decreasing = TRUE)
say(names(counts)[1], counts[[1]], length(counts))
show(tapply(nchar(words), nchar(words), length))
frame <- data.frame(name = c("a", "b", "c", "d"), group = factor(c("x", "y", "x", "y")), value = c(1.5, 2, 3, 4.25))
show(aggregate(value ~ group, data = frame, FUN = mean))
show(subset(frame, value > 1.9 & group == "y", select = c(name, value)))
show(merge(frame, data.frame(name = c("a", "c"), extra = c(TRUE, FALSE)))$extra)
m <- matrix(1:4, nrow = 2, byrow = TRUE)
show(m %*% m)
show(solve(m))
say(det(m), sum(diag(m)), apply(m, 1, sum))
show(summary(c(1, 2, 3, 4, 100)))
fit <- lm(y ~ x, data = data.frame(x = 1:5, y = c(2, 4, 6, 8, 10.5)))
show(round(coef(fit), 3))
set.seed(42)
say(all(runif(100) < 1), length(unique(sample(10))), quantile(1:9, 0.25), sd(c(2, 4, 4, 4, 5, 5, 7, 9)))
fibonacci <- local({
  known <- c(0, 1)
  function(n) {
    while (length(known) <= n) known <<- c(known, sum(tail(known, 2)))
    known[n + 1]
  }
})
say(format(fibonacci(70), digits = 15, big.mark = ","), 7 %/% 2, -7 %% 3, bitwAnd(12L, 10L), .Machine$integer.max)
say(sapply(1:5, function(n) n^2), Reduce(`*`, 1:5), Filter(function(n) n %% 2 == 0, 1:6), do.call(max, list(3, 9)))
moment <- as.POSIXct("2024-02-28 23:00", tz = "UTC") + 25 * 3600
say(format(moment, "%Y-%m-%dT%H:%M:%SZ %j"), format(as.Date("2024-02-28") + 2), weekdays(as.Date("2024-03-01")))
say(sub("(\\w+)@(\\w+)", "\\2 at \\1", "user@host"), unlist(regmatches("a1b22c333", gregexpr("[0-9]+", "a1b22c333"))))
say(sprintf("%05.1f|%-6s|%x|%+d", 3.14159, "left", 255L, 7L), toupper("abc"), rev(utf8ToInt("ab")))
caught <- tryCatch(stop("broken"), error = function(e) conditionMessage(e), finally = cat("finally\n"))
warned <- withCallingHandlers(
  { warning("careful"); "went on" },
  warning = function(w) { say("warned:", conditionMessage(w)); invokeRestart("muffleWarning") }
)
say(caught, warned)
setClass("Shape", representation(size = "numeric", "VIRTUAL"))
setClass("Square", contains = "Shape")
invisible(setGeneric("area", function(shape) standardGeneric("area")))
setMethod("area", "Square", function(shape) shape@size^2)
print.money <- function(x, ...) say("EUR", format(unclass(x), nsmall = 2))
say(area(new("Square", size = 3)), is(new("Square", size = 1), "Shape"))
show(structure(5.5, class = "money"))
Stack <- function() {
  items <- c()
  list(push = function(x) items <<- c(items, x), size = function() length(items))
}
stack <- Stack()
stack$push(1)
stack$push(2)
say(stack$size())
say(unlist(parallel::mclapply(1:4, function(n) n * 10, mc.cores = 2)), system("echo child", intern = TRUE))
str(list(a = 1L, b = "x", c = list(d = TRUE)))
switch("b", a = cat("first\n"), b = cat("second\n"))
say((\(x) x + 1)(1), 1:3 |> sum(), nchar("日本"), is.na(NA), identical(c(a = 1), c(a = 1)))
