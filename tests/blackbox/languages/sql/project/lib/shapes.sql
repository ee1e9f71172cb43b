CREATE TABLE shapes (name TEXT, width INTEGER, height INTEGER);
INSERT INTO shapes VALUES ('circle', 2, 3);
