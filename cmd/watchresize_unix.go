//go:build unix

package cmd

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyResize sends a signal to c whenever the terminal changes its size.
func notifyResize(c chan<- os.Signal) { signal.Notify(c, syscall.SIGWINCH) }
