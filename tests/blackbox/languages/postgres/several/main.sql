\i part.sql
\copy words (word) FROM 'words.txt'
\pset format unaligned
\pset tuples_only on
SELECT joined FROM joined_words;
