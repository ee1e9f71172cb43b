-- Arguments are the variables arg1, arg2, ...
\pset format unaligned
\pset tuples_only on
SELECT 'args: ' || concat('[', :'arg1', '][', :'arg2', '][', :'arg3', '][', :'arg4', '][', :'arg5', '][', :'arg6', '][', :'arg7', ']');
