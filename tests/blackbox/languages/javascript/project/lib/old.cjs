module.exports = { name: "circle" };
