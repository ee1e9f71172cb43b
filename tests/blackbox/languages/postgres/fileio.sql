-- Writes, reads and lists in the work directory: client's files and server's files.
\pset format unaligned
\pset tuples_only on
\! mkdir notes
CREATE TABLE lines (text text);
INSERT INTO lines VALUES ('alpha'), ('beta');
\copy lines TO 'notes/one.txt'
\! echo gamma >>notes/one.txt
TRUNCATE lines;
\copy lines FROM 'notes/one.txt'
SELECT count(*), string_agg(text, ',') FROM lines;
\o notes/two.txt
SELECT 'written by \\o';
\o
\! cat notes/two.txt
\! ls notes
COPY (SELECT upper(text) FROM lines) TO '/tmp/server.txt';
CREATE TABLE back (text text);
COPY back FROM '/tmp/server.txt';
SELECT string_agg(text, '+') FROM back;
SELECT pg_read_file('/tmp/server.txt', 0, 5);
