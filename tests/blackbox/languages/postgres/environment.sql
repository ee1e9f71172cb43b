\set greeting unset
\getenv greeting GREETING
\echo GREETING: :greeting
