module example.com/module

go 1.18

require github.com/google/uuid v1.6.0
