package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/agntchat/agntchat/bench/load"
)

// roleLoad in the environment makes this program the load generator.
const roleLoad = "AGNTCHAT_BENCH_LOAD"

// crowd is the load generator, a child process.
type crowd struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startCrowd() (*crowd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crowd{cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), roleLoad+"=1")
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.lines = bufio.NewScanner(out)
	return c, c.cmd.Start()
}

// do gives one order and waits for the answer.
func (c *crowd) do(o load.Order) (load.Answer, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return load.Answer{}, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return load.Answer{}, fmt.Errorf("load generator: %w", err)
	}
	if !c.lines.Scan() {
		return load.Answer{}, errors.Join(errors.New("the load generator is gone"), c.lines.Err())
	}
	var a load.Answer
	if err := json.Unmarshal(c.lines.Bytes(), &a); err != nil {
		return a, err
	}
	if a.Err != "" {
		return a, fmt.Errorf("%s %s: %s", o.Do, o.Set, a.Err)
	}
	return a, nil
}

func (c *crowd) stop() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
