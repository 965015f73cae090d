package document_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"codeberg.org/go-pdf/fpdf"

	"github.com/agntchat/agntchat/internal/document"
	"github.com/agntchat/agntchat/internal/fault"
)

// made is a PDF of fpdf itself.
func made(t *testing.T, fill func(*fpdf.Fpdf)) []byte {
	t.Helper()
	p := fpdf.New("P", "mm", "A4", "")
	p.SetFont("Helvetica", "", 12)
	fill(p)
	var out bytes.Buffer
	if err := p.Output(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The text of a PDF comes out page by page, Chinese too, whatever type was announced.
func TestK3_TextOfPDFs(t *testing.T) {
	t.Parallel()
	ours, err := document.PDF("The tides 潮汐", "# High water\n\nAt **noon**, 中午。\n\n| Port | Hour |\n|--|--|\n| Brest | 5 |\n", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"application/pdf", "application/octet-stream", ""} {
		got, err := document.Readable(t.Context(), kind, ours, nil)
		if err != nil {
			t.Fatalf("%q: %v", kind, err)
		}
		for _, want := range []string{"[Page 1]", "The tides 潮汐", "High water", "中午", "Brest"} {
			if !strings.Contains(got.Body, want) {
				t.Errorf("%q: no %q in %q", kind, want, got.Body)
			}
		}
	}
	two := made(t, func(p *fpdf.Fpdf) {
		for _, s := range []string{"first page", "second page"} {
			p.AddPage()
			p.Cell(40, 10, s)
		}
	})
	if got, err := document.PDFText(t.Context(), two); err != nil || got != "[Page 1]\nfirst page\n\n[Page 2]\nsecond page" {
		t.Errorf("%q %v", got, err)
	}
	if !document.Extractable("application/pdf; x=y") || document.Extractable("image/png") {
		t.Error("what can be read")
	}
}

// What cannot be read says why, and a hostile document takes bounded time.
func TestK3_PDFsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	good := made(t, func(p *fpdf.Fpdf) { p.AddPage(); p.Cell(40, 10, "x") })
	for name, tc := range map[string]struct {
		content []byte
		want    error
	}{
		"a locked one":    {made(t, func(p *fpdf.Fpdf) { p.SetProtection(0, "secret", "owner"); p.AddPage(); p.Cell(40, 10, "x") }), document.ErrPDFProtected},
		"a picture":       {made(t, func(p *fpdf.Fpdf) { p.AddPage(); p.Rect(10, 10, 50, 50, "F") }), document.ErrPDFNoText},
		"half of one":     {good[:len(good)/4], document.ErrPDFDamaged},
		"only the header": {[]byte("%PDF-1.7\n"), document.ErrPDFDamaged},
		"nothing":         {nil, document.ErrPDFDamaged},
	} {
		if got, err := document.PDFText(t.Context(), tc.content); !errors.Is(err, tc.want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := document.PDFText(gone, append(bytes.Clone(good), ' ')); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any more: %v", err)
	}
}

// Broken in any place, a PDF is an answer or a refusal, never a crash of ours.
func TestK3_DamagedPDFs(t *testing.T) {
	t.Parallel()
	good := made(t, func(p *fpdf.Fpdf) { p.AddPage(); p.Cell(40, 10, "some words") })
	rng := rand.New(rand.NewPCG(7, 8))
	for range 3 {
		bad := bytes.Clone(good)
		for range 1 + rng.IntN(40) {
			bad[rng.IntN(len(bad))] = byte(rng.UintN(256))
		}
		if _, err := document.PDFText(t.Context(), bad); err != nil && fault.KindOf(err) == fault.Internal {
			t.Errorf("%v", err)
		}
	}
}
