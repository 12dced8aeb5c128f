// Command herdscan finds herds: independent-looking actors that act together
// because somebody gave them all the same constant.
package main

import (
	"os"

	"github.com/herdscan/herdscan/cmd"
)

func main() { os.Exit(cmd.Main()) }
