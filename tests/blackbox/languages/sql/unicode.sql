CREATE TABLE "grüße" (wort TEXT, sinn TEXT);
INSERT INTO "grüße" VALUES ('日本', 'Nihon'), ('🦀', 'Krebs'), ('e' || char(769), 'combining');
SELECT wort || ' ' || length(wort) || ' ' || sinn FROM "grüße";
CREATE TABLE eingabe (zeile TEXT);
.import /dev/stdin eingabe
SELECT zeile || ' ' || length(zeile) FROM eingabe;
