-- Writes, appends, reads, attaches in the work directory.
.shell mkdir notes
CREATE TABLE lines (text);
.output notes/one.txt
SELECT 'alpha' UNION ALL SELECT 'beta';
.output
.shell echo gamma >>notes/one.txt
.import notes/one.txt lines
SELECT count(*), group_concat(text) FROM lines;
SELECT writefile('raw.bin', x'000102ff');
SELECT length(readfile('raw.bin')), hex(readfile('raw.bin'));
ATTACH 'notes/base.db' AS other;
CREATE TABLE other.kept AS SELECT upper(text) AS text FROM lines;
DETACH other;
ATTACH 'notes/base.db' AS again;
SELECT group_concat(text, '+') FROM again.kept;
.save copy.db
.open copy.db
SELECT count(*) FROM lines;
