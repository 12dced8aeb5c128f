//go:build !unix

package cmd

import "os"

// notifyResize does nothing where there is no such signal: the size is looked
// at before each frame anyway.
func notifyResize(chan<- os.Signal) {}
