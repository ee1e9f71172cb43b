CREATE TABLE input (line TEXT);
.import /dev/stdin input
SELECT rowid || ': ' || line FROM input;
