-- A walk through PostgreSQL; every line of its output is known.
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
CREATE TYPE level AS ENUM ('low', 'high');
CREATE TABLE people (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    born date,
    tags text[] DEFAULT '{}',
    extra jsonb,
    shout text GENERATED ALWAYS AS (upper(name) || '!') STORED
);
CREATE TABLE orders (
    id serial PRIMARY KEY,
    person integer NOT NULL REFERENCES people ON DELETE CASCADE,
    amount numeric(10, 2) CHECK (amount > 0),
    grade level DEFAULT 'low'
);
INSERT INTO people (name, born, tags, extra) VALUES
    ('Ada', '1815-12-10', '{maths,engine}', '{"langs": ["note g"], "score": 9.5}'),
    ('Grace', '1906-12-09', '{navy}', '{"langs": ["cobol", "flow-matic"]}'),
    ('Edsger', '1930-05-11', DEFAULT, NULL);
INSERT INTO orders (person, amount, grade) VALUES (1, 10.5, 'low'), (1, 20, 'high'), (2, 7.25, 'low'), (3, 100, 'high');
INSERT INTO people (name) VALUES ('Ada') ON CONFLICT (name) DO UPDATE SET born = people.born + 1 RETURNING born;
SELECT name, shout, count(*), sum(amount) FROM people JOIN orders ON person = people.id GROUP BY people.id HAVING count(*) > 1;
SELECT grade, amount, rank() OVER (PARTITION BY grade ORDER BY amount DESC), sum(amount) OVER (ORDER BY id) FROM orders ORDER BY id;
SELECT grade, avg(amount)::numeric(10, 3), percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), array_agg(amount ORDER BY id) FROM orders GROUP BY ROLLUP (grade) ORDER BY grade;
WITH RECURSIVE fibonacci (n, a, b) AS (SELECT 0, 0::numeric, 1::numeric UNION ALL SELECT n + 1, b, a + b FROM fibonacci WHERE n < 150)
    SELECT a FROM fibonacci WHERE n = 150;
SELECT word, count(*) FROM regexp_split_to_table('the quick the lazy the end', '\s+') AS word GROUP BY word ORDER BY 2 DESC, 1 LIMIT 2;
SELECT name, extra -> 'langs' ->> 0, extra @> '{"score": 9.5}', jsonb_array_length(extra -> 'langs') FROM people WHERE extra IS NOT NULL ORDER BY id;
SELECT jsonb_build_object('b', ARRAY[1, 2], 'a', 'ü'), jsonb_path_query('{"x": [1, {"y": "deep"}]}', '$.x[*].y');
SELECT name, unnest(tags) FROM people WHERE 'maths' = ANY (tags) ORDER BY 2;
SELECT timestamptz '2024-02-28 23:00+00' + interval '25 hours', to_char(date '2024-03-01', 'FMDay DDD'), age(date '2024-03-01', date '2023-01-15'), extract(epoch FROM interval '1 day');
SELECT regexp_replace('user@host', '(\w+)@(\w+)', '\2 at \1'), substring('abc123' FROM '[0-9]+'), split_part('a,b,c', ',', 2), format('%s|%I|%L', 1, 'two', 'th''ree');
SELECT md5('abc'), encode(sha256('abc'), 'base64'), 7 / 2, 7 % 3, 2 ^ 10, 0.1 + 0.2 = 0.3, 17::bit(8), width_bucket(5, 0, 10, 5), int4range(1, 5) * int4range(3, 9);
SELECT p.name, best.amount FROM people p CROSS JOIN LATERAL (SELECT amount FROM orders WHERE person = p.id ORDER BY amount DESC LIMIT 1) best ORDER BY 2;
CREATE FUNCTION factorial(n integer) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE WHEN n < 2 THEN 1 ELSE n * factorial(n - 1) END;
END
$$;
SELECT factorial(30);
CREATE TABLE log (what text);
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log VALUES (format('%s %s', lower(TG_OP), OLD.name));
    RETURN OLD;
END
$$;
CREATE TRIGGER noted AFTER DELETE ON people FOR EACH ROW EXECUTE FUNCTION noted();
BEGIN;
DELETE FROM people WHERE name = 'Edsger';
SAVEPOINT inner_one;
DELETE FROM people;
ROLLBACK TO inner_one;
COMMIT;
SELECT (SELECT count(*) FROM people), (SELECT count(*) FROM orders), (SELECT string_agg(what, ',') FROM log);
DO $$
BEGIN
    INSERT INTO orders (person, amount) VALUES (1, -5);
EXCEPTION WHEN check_violation THEN
    INSERT INTO log VALUES ('refused');
END
$$;
SELECT what FROM log ORDER BY what DESC LIMIT 1;
SELECT to_tsvector('english', 'the quick brown foxes') @@ to_tsquery('fox & quick');
PREPARE by_name (text) AS SELECT id FROM people WHERE name = $1;
EXECUTE by_name ('Grace');
CREATE MATERIALIZED VIEW totals AS SELECT person, sum(amount) AS spent FROM orders GROUP BY person;
SELECT string_agg(person || '=' || spent, ';' ORDER BY person) FROM totals;
SELECT count(*), sum(n), bool_and(n > 0) FROM generate_series(1, 100000) AS n;
