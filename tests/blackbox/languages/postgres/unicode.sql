\pset format unaligned
\pset tuples_only on
CREATE TABLE grüße (nummer serial, wort text, sinn text);
INSERT INTO grüße (wort, sinn) VALUES ('日本', 'Nihon'), ('🦀', 'Krebs'), (E'e\u0301', 'combining');
SELECT wort || ' ' || char_length(wort) || ' ' || sinn FROM grüße ORDER BY nummer;
CREATE TABLE eingabe (zeile text);
\copy eingabe FROM pstdin
SELECT reverse(zeile) FROM eingabe;
