.read lib/shapes.sql
SELECT name || ' ' || (width * height) || ' ' || trim(readfile('data/words.txt'), char(10)) FROM shapes;
