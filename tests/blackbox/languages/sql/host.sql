-- Tries to connect to the port in the environment, then to read the files that it is given.
.shell if bash -c ': <>/dev/tcp/127.0.0.1/$PORT' 2>/dev/null; then echo connected; else echo no connection; fi
SELECT iif(readfile(?1) IS NULL, 'refused', 'read');
SELECT iif(readfile(?2) IS NULL, 'refused', 'read');
SELECT iif(readfile(?3) IS NULL, 'refused', 'read');
