package ttlhist

// Pattern returns the pattern that a key belongs to when keys are not grouped
// otherwise: the key with its ids replaced by "*".
func Pattern(key []byte) string { return string(appendPattern(nil, key)) }
