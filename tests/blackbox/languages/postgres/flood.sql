COPY (SELECT repeat('x', 99) FROM generate_series(1, 100000000)) TO STDOUT;
