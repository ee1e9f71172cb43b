const isNumber = require("is-number");

console.log(isNumber("5e3"), isNumber("five"));
