# session-r.R: the R kernel of a session, on the two pipes of session-relay.sh.
#
# Cells are evaluated in the global environment, and each visible value is shown, as at R's prompt.
# Interrupts are held back except while a cell runs.
local({
    largest_text <- 1048576L
    short <- 80L
    pipes <- Sys.getenv("SANDBOX_RUN_KERNEL_PIPES")
    Sys.unsetenv("SANDBOX_RUN_KERNEL_PIPES")
    from <- fifo(file.path(pipes, "in"), "rb", blocking = TRUE)
    to <- fifo(file.path(pipes, "out"), "wb", blocking = TRUE)
    unlink(pipes, recursive = TRUE)
    cell <- 0L
    running <- FALSE
    plots <- file.path(tempdir(), "plots")

    text <- function(s) {
        s <- paste(enc2utf8(as.character(s)), collapse = "\n")
        s <- iconv(s, "UTF-8", "UTF-8", sub = "?")
        s <- gsub("\\", "\\\\", s, fixed = TRUE)
        s <- gsub("\"", "\\\"", s, fixed = TRUE)
        s <- gsub("\n", "\\n", s, fixed = TRUE)
        s <- gsub("\t", "\\t", s, fixed = TRUE)
        s <- gsub("\r", "\\r", s, fixed = TRUE)
        for (code in c(1:8, 11:12, 14:31, 127)) {
            sign <- intToUtf8(code)
            if (grepl(sign, s, fixed = TRUE)) s <- gsub(sign, sprintf("\\u%04x", code), s, fixed = TRUE)
        }
        paste0("\"", s, "\"")
    }

    send <- function(word, number, argument, payload) {
        bytes <- charToRaw(enc2utf8(payload))
        writeBin(c(charToRaw(paste0(word, " ", number, " ", argument, " ", length(bytes), "\n")), bytes), to)
        flush(to)
    }

    take <- function(n) {
        bytes <- raw(0)
        while (length(bytes) < n) {
            more <- readBin(from, "raw", n - length(bytes))
            if (!length(more)) base::quit("no", 0)
            bytes <- c(bytes, more)
        }
        bytes
    }

    receive <- function() {
        header <- raw(0)
        while (!length(header) || header[length(header)] != as.raw(10L)) header <- c(header, take(1L))
        words <- strsplit(sub("\n", "", rawToChar(header)), " ")[[1]]
        code <- rawToChar(take(as.integer(words[4])))
        Encoding(code) <- "UTF-8"
        list(word = words[1], number = words[2], argument = words[3], code = code)
    }

    base64 <- function(bytes) {
        signs <- c(LETTERS, letters, 0:9, "+", "/")
        padding <- (3L - length(bytes) %% 3L) %% 3L
        n <- matrix(as.integer(c(bytes, raw(padding))), 3L)
        n <- n[1L, ] * 65536L + n[2L, ] * 256L + n[3L, ]
        out <- rbind(n %/% 262144L, n %/% 4096L %% 64L, n %/% 64L %% 64L, n %% 64L)
        out <- signs[out + 1L]
        if (padding) out[length(out) - seq_len(padding) + 1L] <- "="
        paste(out, collapse = "")
    }

    escape <- function(s) gsub("<", "&lt;", gsub("&", "&amp;", s, fixed = TRUE), fixed = TRUE)

    table_html <- function(value) {
        value <- utils::head(value, 1000L)
        row <- function(cells, tag) paste0("<tr>", paste0("<", tag, ">", escape(cells), "</", tag, ">", collapse = ""), "</tr>")
        cells <- vapply(value, function(column) format(column), character(nrow(value)))
        cells <- matrix(cells, nrow(value))
        rows <- vapply(seq_len(nrow(value)), function(i) row(cells[i, ], "td"), "")
        paste0("<table>", row(names(value), "th"), paste(rows, collapse = ""), "</table>")
    }

    show_value <- function(value) {
        lines <- utils::capture.output(if (isS4(value)) methods::show(value) else print(value))
        plain <- paste(lines, collapse = "\n")
        if (nchar(plain, "bytes") > largest_text) plain <- paste0(substr(plain, 1L, largest_text %/% 4L), "...")
        html <- if (is.data.frame(value) && nrow(value) && ncol(value)) tryCatch(table_html(value), error = function(e) NULL)
        send("display", cell, "-", paste0("{\"text/plain\": ", text(plain),
            if (length(html)) paste0(", \"text/html\": ", text(html)), "}"))
    }

    # Plots go to files, which are shown at the end of the cell.
    open_device <- function(...) {
        dir.create(plots, FALSE)
        type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
        grDevices::png(file.path(plots, "plot-%03d.png"), 640, 480, type = type)
    }

    show_plots <- function() {
        if (!dir.exists(plots)) return()
        while (grDevices::dev.cur() > 1L) grDevices::dev.off()
        for (name in sort(list.files(plots, full.names = TRUE))) {
            bytes <- readBin(name, "raw", file.size(name))
            send("display", cell, "-", paste0("{\"text/plain\": \"<plot>\", \"image/png\": \"", base64(bytes), "\"}"))
        }
        unlink(plots, recursive = TRUE)
    }

    # The calls of the cells' own code, the outermost first.
    frames_of <- function(calls) {
        out <- character(0)
        for (call in calls) {
            place <- attr(call, "srcref")
            file <- if (is.null(place)) NULL else attr(place, "srcfile")$filename
            if (length(file) && grepl("^cell-", file)) {
                name <- if (is.call(call) && is.name(call[[1L]])) as.character(call[[1L]]) else ""
                out <- c(out, paste0("{\"file\": \"", file, "\", \"line\": ", place[1L], ", \"function\": ", text(name), "}"))
            }
        }
        out
    }

    complain <- function(condition, frames) {
        call <- conditionCall(condition)
        message <- conditionMessage(condition)
        mine <- is.null(call) || identical(call[[1L]], quote(eval)) || identical(call[[1L]], quote(parse))
        cat(if (mine) "Error: " else paste0("Error in ", deparse(call)[1L], " : "), message, "\n", sep = "", file = stderr())
        type <- if (identical(call[[1L]], quote(parse))) "SyntaxError" else class(condition)[1L]
        if (type == "SyntaxError" && grepl("^cell-[0-9]+:[0-9]+", message)) {
            place <- strsplit(sub("^(cell-[0-9]+):([0-9]+).*", "\\1 \\2", strsplit(message, "\n")[[1L]][1L]), " ")[[1L]]
            frames <- paste0("{\"file\": \"", place[1L], "\", \"line\": ", place[2L], ", \"function\": \"\"}")
        }
        send("done", cell, "error", paste0("{\"type\": ", text(type), ", \"message\": ",
            text(sub("\n.*", "", message)), ", \"frames\": [", paste(frames, collapse = ", "), "]}"))
    }

    parse_cell <- function(code, name) {
        source <- srcfilecopy(name, strsplit(code, "\n")[[1L]], isFile = FALSE)
        parse(text = code, keep.source = TRUE, srcfile = source)
    }

    run <- function(code) {
        frames <- here <- character(0)
        evaluate <- function() {
            expressions <- parse_cell(code, paste0("cell-", cell))
            places <- attr(expressions, "srcref")
            for (i in seq_along(expressions)) {
                here <<- paste0("{\"file\": \"cell-", cell, "\", \"line\": ", places[[i]][1L], ", \"function\": \"\"}")
                result <- withVisible(eval(expressions[[i]], globalenv()))
                if (result$visible && !is.null(result$value)) show_value(result$value)
                else if (result$visible) cat("NULL\n")
            }
            NULL
        }
        tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(e) NULL) # of the time before the cell
        failure <- tryCatch(withCallingHandlers(allowInterrupts(evaluate()),
            error = function(e) frames <<- c(here, frames_of(sys.calls()))),
            error = function(e) e, interrupt = function(e) "interrupted")
        while (sink.number() > 0L) sink()
        flush(stdout())
        tryCatch(show_plots(), error = function(e) NULL)
        if (identical(failure, "interrupted")) {
            cat("interrupted\n", file = stderr())
            send("done", cell, "interrupted", "{}")
        } else if (inherits(failure, "error")) complain(failure, frames)
        else send("done", cell, "ok", "{}")
    }

    check <- function(code) {
        tryCatch({ parse(text = code); "complete" }, error = function(e) {
            if (grepl("unexpected end of input|unexpected INCOMPLETE_STRING", conditionMessage(e))) "incomplete" else "invalid"
        })
    }

    complete <- function(code, cursor) {
        line <- rawToChar(charToRaw(code)[seq_len(cursor)])
        line <- sub(".*\n", "", line)
        own <- asNamespace("utils")
        own$.assignLinebuffer(line)
        own$.assignEnd(nchar(line, "bytes"))
        token <- own$.guessTokenFromLine()
        own$.completeToken()
        matches <- utils::head(own$.retrieveCompletions(), 500L)
        paste0("{\"matches\": [", paste(vapply(matches, text, ""), collapse = ", "), "], \"start\": ",
            cursor - nchar(token, "bytes"), "}")
    }

    vars <- function() {
        one <- function(name) {
            value <- get(name, globalenv())
            shown <- paste(utils::capture.output(utils::str(value, vec.len = 3L, give.attr = FALSE)), collapse = " ")
            shown <- trimws(gsub("\\s+", " ", shown))
            if (nchar(shown) > short) shown <- paste0(substr(shown, 1L, short - 3L), "...")
            paste0("{\"name\": ", text(name), ", \"type\": ", text(class(value)[1L]), ", \"size\": ",
                format(as.numeric(utils::object.size(value)), scientific = FALSE), ", \"value\": ", text(shown), "}")
        }
        paste0("{\"vars\": [", paste(vapply(ls(globalenv()), one, ""), collapse = ", "), "]}")
    }

    answer <- function(frame) {
        switch(frame$word,
            check = send("answer", frame$number, check(frame$code), "{\"indent\": \"\"}"),
            complete = send("answer", frame$number, "ok", complete(frame$code, as.integer(frame$argument))),
            vars = send("answer", frame$number, "ok", vars()),
            send("answer", frame$number, "invalid", "{\"message\": \"this kernel cannot do that\"}"))
    }

    leave <- function(save = "no", status = 0, runLast = TRUE) {
        flush(stdout())
        if (running) send("done", cell, "exit", paste0("{\"code\": ", as.integer(status), "}"))
        base::quit("no", status, FALSE)
    }
    attach(list(q = leave, quit = leave), name = "sandbox-run", warn.conflicts = FALSE)
    options(warn = 1, device = open_device, keep.source = TRUE, error = NULL)
    suspendInterrupts({
        send("ready", 0, "-", paste0("{\"version\": \"", R.version$major, ".", R.version$minor,
            "\", \"can\": [\"check\", \"complete\", \"vars\"], \"pid\": ", Sys.getpid(), "}"))
        repeat {
            frame <- receive()
            if (frame$word == "execute") {
                cell <- frame$number
                running <- TRUE
                run(frame$code)
                running <- FALSE
            } else {
                tryCatch(answer(frame), error = function(e)
                    send("answer", frame$number, "invalid", paste0("{\"message\": ", text(conditionMessage(e)), "}")))
            }
        }
    })
})
