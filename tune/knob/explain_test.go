package knob

import "fmt"

func ExampleDoc_Explain() {
	d, _ := Lookup("engine.burst")
	fmt.Print(d.Explain())
	// Output:
	// knob      engine.burst
	// what      (unverified) How many datagrams leave back to back at each tick of the rate clock.
	// also      burst
	// values    1..64 (datagrams)
	// default   1
	// effect    immediate
	// risk      R0: no packet lost
	// scope     our sockets only
	// watch     Mb/s, loss
	// note      unverified: a program setting, defaults to be checked against the engine itself; keep fixed during A/B
}
