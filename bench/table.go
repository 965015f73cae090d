package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table gathers figures over the rounds and prints their medians.
type table struct {
	order []string
	rows  map[string]*row
}

type row struct {
	section, what string
	values        map[string][]float64
	note          string
	goal          string
}

func newTable() *table { return &table{rows: map[string]*row{}} }

// at is a row; it is made when it is named for the first time, and rows are
// printed in that order.
func (t *table) at(section, what string) *row {
	key := section + "\x00" + what
	if t.rows[key] == nil {
		t.order = append(t.order, key)
		t.rows[key] = &row{section: section, what: what, values: map[string][]float64{}}
	}
	return t.rows[key]
}

func (r *row) add(column string, v float64) *row {
	r.values[column] = append(r.values[column], v)
	return r
}

func (r *row) median(column string) float64 { return median(r.values[column]) }

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// The columns of the one table. A row fills those that mean something for it.
const (
	colRate   = "per s"
	colCPU    = "server µs/op"
	colPG     = "postgres µs/op"
	colP50    = "p50 ms"
	colP99    = "p99 ms"
	colRatio  = "ratio"
	colKiB    = "KiB"
	colMillis = "ms"
)

var columns = []string{colRate, colCPU, colPG, colP50, colP99, colRatio, colKiB, colMillis}

// print writes the medians as a Markdown table.
func (t *table) print(w io.Writer) {
	head := append([]string{"section", "what"}, columns...)
	head = append(head, "goal", "note")
	lines := [][]string{head}
	for _, key := range t.order {
		r := t.rows[key]
		line := []string{r.section, r.what}
		for _, c := range columns {
			line = append(line, cell(r.values[c]))
		}
		lines = append(lines, append(line, r.goal, r.note))
	}
	width := make([]int, len(head))
	for _, l := range lines {
		for i, s := range l {
			width[i] = max(width[i], len([]rune(s)))
		}
	}
	for n, l := range lines {
		for i, s := range l {
			fmt.Fprintf(w, "| %s%s ", s, strings.Repeat(" ", width[i]-len([]rune(s))))
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			for _, n := range width {
				fmt.Fprint(w, "|", strings.Repeat("-", n+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
}

func cell(all []float64) string {
	if len(all) == 0 {
		return ""
	}
	switch v := median(all); {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
