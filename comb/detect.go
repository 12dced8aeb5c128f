package comb

// Detect finds the combs and one-off teeth of one series.
func Detect(s *Series, o Options) Result { return Result{} }

// DetectFamilies tests many series together. It returns the result of each
// one, in the order given, and the herds that several of them share.
func DetectFamilies(series []Named, o Options) (each []Result, families []Family) {
	return make([]Result, len(series)), nil
}
