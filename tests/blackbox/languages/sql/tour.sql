-- A walk through SQLite; every line of its output is known.
PRAGMA foreign_keys = ON;
CREATE TABLE people (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    born TEXT CHECK (born LIKE '____-__-__'),
    shout TEXT GENERATED ALWAYS AS (upper(name) || '!') VIRTUAL
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    person INTEGER NOT NULL REFERENCES people ON DELETE CASCADE,
    amount REAL NOT NULL,
    at TEXT DEFAULT '2024-02-28'
) STRICT;
CREATE TABLE log (what TEXT);
CREATE TRIGGER noted AFTER DELETE ON people BEGIN
    INSERT INTO log VALUES ('deleted ' || old.name);
END;
CREATE INDEX orders_by_person ON orders (person, amount DESC);
INSERT INTO people (name, born) VALUES ('Ada', '1815-12-10'), ('Grace', '1906-12-09'), ('Edsger', '1930-05-11');
INSERT INTO orders (person, amount) VALUES (1, 10.5), (1, 20), (2, 7.25), (2, 7.25), (3, 100);
INSERT INTO people (name, born) VALUES ('Ada', '1815-12-10') ON CONFLICT (name) DO UPDATE SET born = '1815-12-11' RETURNING born;
SELECT name, shout, count(*), sum(amount) FROM people JOIN orders ON person = people.id GROUP BY name HAVING count(*) > 1 ORDER BY 4 DESC;
SELECT name, amount, rank() OVER ranked, sum(amount) OVER (ORDER BY orders.id) FROM orders JOIN people ON people.id = person
    WINDOW ranked AS (ORDER BY amount DESC) ORDER BY orders.id;
SELECT name, coalesce((SELECT max(amount) FROM orders WHERE person = people.id AND amount < 15), 'none') FROM people ORDER BY name;
WITH RECURSIVE fibonacci (n, a, b) AS (SELECT 0, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM fibonacci WHERE n < 90)
    SELECT a FROM fibonacci WHERE n = 90;
WITH words (word) AS (SELECT value FROM json_each('["the","quick","the","end"]'))
    SELECT word, count(*) FROM words GROUP BY word ORDER BY 2 DESC, 1 LIMIT 2;
SELECT json_object('b', json_array(1, 2.5, NULL), 'a', 'ü'), json_extract('{"x":[1,{"y":"deep"}]}', '$.x[1].y');
SELECT date('2024-02-28', '+2 days'), strftime('%j %w', '2024-03-01'), julianday('2024-03-01') - julianday('2024-02-28'), unixepoch('1970-01-02');
SELECT printf('%05.1f|%-6s|%x|%+d', 3.14159, 'left', 255, 7), substr('hello', -3), replace('aXb', 'X', '-'), instr('hello', 'l'), hex('abc');
SELECT 7 / 2, 7 % 3, 7 / 2.0, 1 << 40, typeof(9223372036854775807 + 1), abs(-5), round(2.567, 1), max(3, 9, 4), iif(1 > 2, 'yes', 'no');
SELECT 'abc' GLOB 'a*', 'ABC' LIKE 'a_c', 'x' IN ('x', 'y'), 5 BETWEEN 1 AND 9, NULL IS NULL, CASE 3 WHEN 3 THEN 'three' END;
CREATE VIEW totals AS SELECT name, total(amount) AS spent FROM people LEFT JOIN orders ON person = people.id GROUP BY people.id;
SELECT group_concat(name || '=' || spent, ';') FROM (SELECT * FROM totals ORDER BY spent);
BEGIN;
DELETE FROM people WHERE name = 'Edsger';
SAVEPOINT inner;
DELETE FROM people;
ROLLBACK TO inner;
COMMIT;
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM orders), (SELECT group_concat(what) FROM log);
SELECT 'x' EXCEPT SELECT 'y' UNION SELECT 'z' INTERSECT SELECT 'z';
CREATE VIRTUAL TABLE pages USING fts5(body);
INSERT INTO pages VALUES ('the quick brown fox'), ('lazy dogs sleep'), ('quick quick slow');
SELECT count(*), (SELECT highlight(pages, 0, '<', '>') FROM pages WHERE pages MATCH 'fox') FROM pages WHERE pages MATCH 'quick';
UPDATE people SET name = name || ' L.' WHERE id = 1 RETURNING id, name;
.mode quote
SELECT name, 'a,"b"' FROM people ORDER BY id;
.mode json
SELECT id, name FROM people WHERE id = 2;
.mode list
PRAGMA integrity_check;
