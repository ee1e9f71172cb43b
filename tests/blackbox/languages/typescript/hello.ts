const greeting: string = "Hello, world";
console.log(greeting);
