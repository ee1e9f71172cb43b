CREATE TABLE words (number serial, word text);
CREATE VIEW joined_words AS SELECT string_agg(word, '+' ORDER BY number) AS joined FROM words;
