SELECT 'Hello, world' AS greeting;
