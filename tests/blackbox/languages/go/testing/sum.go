package sum

func Of(values ...int) (total int) {
	for _, value := range values {
		total += value
	}
	return
}
