module example.com/testing

go 1.18
