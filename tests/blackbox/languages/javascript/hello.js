console.log("Hello, world");
