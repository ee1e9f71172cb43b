\ir lib/shapes.sql
\set words `cat data/words.txt`
\pset format unaligned
\pset tuples_only on
SELECT name || ' ' || width * height || ' ' || :'words' FROM shapes;
