cat("Hello, world\n")
