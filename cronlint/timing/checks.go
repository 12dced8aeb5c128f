package timing

import "github.com/herdscan/herdscan/cronlint/lint"

// Checks returns the rules of this package, by number.
func Checks() []lint.Check {
	a := new(analysis)
	return []lint.Check{
		checkHS001(), checkHS002(), checkHS003(), checkHS004(), checkHS005(), checkHS006(a),
		checkHS101(a), checkHS102(a), checkHS103(a), checkHS104(), checkHS105(a),
		checkHS110(a), checkHS111(a), checkHS112(a), checkHS113(a), checkHS120(a), checkHS121(a),
		checkHS140(), checkHS141(), checkHS142(a), checkHS143(), checkHS144(), checkHS145(), checkHS146(a), checkHS147(a),
		checkHS150(a), checkHS151(a), checkHS152(a), checkHS153(a), checkHS154(), checkHS155(), checkHS156(), checkHS157(a),
		checkHS160(), checkHS161(a), checkHS162(), checkHS163(),
	}
}
