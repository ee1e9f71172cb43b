COPY (SELECT repeat('x', 99 + 0 * generate_series(1, 100000000))) TO STDOUT;
