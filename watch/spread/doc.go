// Package spread disarms a loaded herd: it plans new expiries for the keys of
// one pattern that will die together, so that they die one after the other,
// writes them to the server, and can put the old ones back.
//
// A plan moves only keys that lie in the teeth ahead, and only ever to an
// earlier time unless it may lengthen. The log that is written before the
// first key is touched holds the whole plan, so that a run that was cut off
// goes on with the same expiries, and no key is ever shortened twice.
package spread
