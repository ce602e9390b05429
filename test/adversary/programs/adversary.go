// Programs that are built to be misjudged, chosen by name. See adversary.h.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"time"
)

func ready() { fmt.Print("READY\r\n") }

func scan() { bufio.NewScanner(os.Stdin).Scan() }

func work() {
	for {
		for i := 0; i < 2000000; i++ {
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func main() {
	programs := map[string]func(){
		// They wait for input.
		"scan": func() { ready(); scan() },
		"scan-in-another": func() {
			done := make(chan bool)
			go func() { ready(); scan(); done <- true }()
			<-done
		},
		"scan-and-tick": func() {
			go func() {
				for range time.Tick(300 * time.Millisecond) {
				}
			}()
			ready()
			scan()
		},
		// They work.
		"scan-while-working": func() { go scan(); ready(); work() },
		"scan-while-connected": func() {
			server, _ := net.Listen("tcp", "127.0.0.1:0")
			client, _ := net.Dial("tcp", server.Addr().String())
			go scan()
			ready()
			client.Read(make([]byte, 1))
		},
		"sleep": func() { ready(); time.Sleep(time.Minute) },
	}
	programs[os.Args[1]]()
}
