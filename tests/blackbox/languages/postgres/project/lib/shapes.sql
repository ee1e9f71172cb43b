CREATE TABLE shapes (name text, width integer, height integer);
INSERT INTO shapes VALUES ('circle', 2, 3);
