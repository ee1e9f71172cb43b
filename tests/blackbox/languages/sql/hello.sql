SELECT 'Hello, world';
