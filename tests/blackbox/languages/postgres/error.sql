\echo before
SELECT 1 AS one;
SELECT 1 / 0;
\echo after
