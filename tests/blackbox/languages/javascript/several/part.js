exports.join = (words) => words.join("+");
