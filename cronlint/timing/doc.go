// Package timing holds the rules about schedules: whether they mean what was
// meant (HS0xx), and whether they make jobs start together (HS1xx). It also
// chooses better minutes (see [NewPlan]).
//
// One rule is one file: its documentation as data and the function that
// decides it. The list is in checks.go.
package timing
