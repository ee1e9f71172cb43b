return {
    join = function(words)
        return table.concat(words, "+")
    end,
}
