\pset format unaligned
\pset tuples_only on
CREATE TABLE input (number serial, line text);
\copy input (line) FROM pstdin
SELECT number || ': ' || line FROM input ORDER BY number;
