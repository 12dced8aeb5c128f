// Package schedule reads schedules in the dialects of many schedulers and says
// exactly when they fire.
//
// A schedule that follows the wall clock is a set of days crossed with a set
// of minutes of the day (and, where the dialect has them, seconds of the
// minute). Both sets are bit sets, so that the fires of a whole year of two
// schedules can be intersected in a few microseconds (see [Schedule.Year]).
//
// Dialects differ more than they look: how day-of-month and day-of-week
// combine, which day is 1, what 5/15 means, what happens when the clocks
// change. The table in dialect.go holds those differences; the parser for all
// cron dialects is one.
package schedule
