package ttlhist

type histogram struct{}
