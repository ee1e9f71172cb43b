# Installs packages from the repositories of the user's options.
#
# Rscript r-install.R DIRECTORY [NAME[@VERSION]]...
#
# Speaks only when something fails.  A version that is not the newest is in the archive of its
# repository.
words <- commandArgs(trailingOnly = TRUE)
target <- words[1]
words <- words[-1]
log <- tempfile()
shelf <- file.path(tempdir(), "shelf")
dir.create(shelf)

fail <- function(...) {
  if (file.exists(log)) writeLines(tail(readLines(log, warn = FALSE), 60), stderr())
  writeLines(paste0(...), stderr())
  quit(status = 1)
}

# Installs what is named, with what it needs.  The repository's list says what is not there.
install <- function(packages, available) {
  unknown <- setdiff(packages, rownames(available))
  if (length(unknown) > 0)
    fail("there is no package '", unknown[1], "' in ", paste(getOption("repos"), collapse = ", "))
  wanted <- c(unlist(tools::package_dependencies(packages, available, recursive = TRUE)), packages)
  there <- rownames(installed.packages())
  wanted <- setdiff(unique(wanted), setdiff(there, packages))
  fetch(intersect(wanted, rownames(available)), available)
}

# Installing a package runs its code: when everything is fetched, without a network.
close_network <- function() {
  if (!identical(suppressWarnings(nsl("close.sandbox-run.internal")), "127.0.0.1"))
    fail("the network could not be given back, so no package was installed")
}

fetch <- function(packages, available) {
  if (length(packages) > 0)
    suppressWarnings(download.packages(packages, shelf, available = available, type = "source", quiet = TRUE))
}

install_fetched <- function() {
  tools::write_PACKAGES(shelf, type = "source")
  close_network()
  here <- paste0("file://", shelf)
  wanted <- rownames(available.packages(here, type = "source", filters = list()))
  suppressWarnings(install.packages(wanted, lib = target, contriburl = here, type = "source", quiet = TRUE,
                                    keep_outputs = dirname(log), INSTALL_opts = "--no-docs"))
}

check <- function(packages) {
  missing <- setdiff(packages, rownames(installed.packages(target)))
  if (length(missing) == 0)
    return(invisible())
  outputs <- file.path(dirname(log), paste0(missing[1], ".out"))
  if (file.exists(outputs)) file.copy(outputs, log, overwrite = TRUE)
  fail("the package '", missing[1], "' could not be installed")
}

# NAME_VERSION.tar.gz of the archive: install.packages() knows only the newest.
install_version <- function(name, version, available) {
  if (name %in% rownames(available) && available[name, "Version"] == version)
    return(install(name, available))
  file <- file.path(shelf, paste0(name, "_", version, ".tar.gz"))
  for (contrib in contrib.url(getOption("repos"), "source")) {
    from <- paste(contrib, "Archive", name, basename(file), sep = "/")
    got <- tryCatch(suppressWarnings(download.file(from, file, quiet = TRUE)), error = function(problem) 1)
    if (got == 0)
      break
  }
  if (got != 0)
    fail("there is no version ", version, " of the package '", name, "'")
  untar(file, paste0(name, "/DESCRIPTION"), exdir = tempdir())
  about <- read.dcf(file.path(tempdir(), name, "DESCRIPTION"))
  row <- setNames(rep(NA_character_, 3), c("Depends", "Imports", "LinkingTo"))
  known <- intersect(names(row), colnames(about))
  row[known] <- about[1, known]
  needs <- unlist(tools::package_dependencies(name, rbind(c(Package = name, row)), recursive = FALSE))
  needs <- setdiff(needs, rownames(installed.packages()))
  if (length(needs) > 0)
    install(needs, available)
}

valid <- grepl("^[A-Za-z][A-Za-z0-9.]*(@[0-9][0-9.-]*|@latest)?$", words)
if (!all(valid))
  fail("'", words[!valid][1], "' is no package: write NAME or NAME@VERSION")
names <- sub("@.*", "", words)
versions <- sub("latest", "", ifelse(grepl("@", words), sub(".*@", "", words), ""))
.libPaths(c(target, .libPaths()))
options(timeout = 300)
available <- suppressWarnings(available.packages(type = "source"))
if (nrow(available) == 0)
  fail("no list of packages could be read from ", paste(getOption("repos"), collapse = ", "))
for (i in which(versions != ""))
  install_version(names[i], versions[i], available)
if (any(versions == ""))
  install(names[versions == ""], available)
install_fetched()
check(names)
