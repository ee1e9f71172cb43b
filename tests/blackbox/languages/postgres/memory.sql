SELECT length(string_agg(repeat(n::text, 100000), '')) FROM generate_series(1, 2000) AS n;
