CREATE TABLE words (word TEXT);
CREATE VIEW joined_words AS SELECT group_concat(word, '+') AS joined FROM words;
