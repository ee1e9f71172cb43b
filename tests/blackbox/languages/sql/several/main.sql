.read part.sql
.import words.txt words
SELECT joined FROM joined_words;
