-- Tries to read files of the host, from the server and from its client, then to connect to the port in the environment.
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION try_to_read(path text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN 'read ' || length(pg_read_binary_file(path));
EXCEPTION WHEN OTHERS THEN
    RETURN 'refused';
END
$$;
\getenv secret SECRET_FILE
SELECT try_to_read('/etc/shadow');
SELECT try_to_read('/root/.profile');
SELECT try_to_read(:'secret');
CREATE TABLE said (word text);
COPY said FROM PROGRAM 'bash -c "if bash -c '': <>/dev/tcp/127.0.0.1/$PORT'' 2>/dev/null; then echo connected; else echo no connection; fi"';
SELECT word FROM said;
