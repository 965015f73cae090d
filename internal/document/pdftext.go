package document

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	pdfium "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/agntchat/agntchat/internal/fault"
)

// The answers to a PDF whose text cannot be read.
var (
	ErrPDFProtected = fault.New(fault.Invalid, "protected_pdf", "This PDF is protected by a password: its text cannot be read.")
	ErrPDFDamaged   = fault.New(fault.Invalid, "damaged_pdf", "This PDF is damaged: its text cannot be read.")
	ErrPDFNoText    = fault.New(fault.Invalid, "pdf_without_text", "This PDF holds no text: its pages are pictures.")
	ErrPDFTooLong   = fault.New(fault.Invalid, "pdf_too_long", "Reading this PDF takes too long.")
)

// The limits of one PDF.
const (
	pdfTime   = 60 * time.Second
	pdfPages  = 2000
	pdfChars  = 2_000_000
	pdfMemory = 256 << 20 // bytes, of the reader
	wasmPage  = 64 << 10
	pdfKept   = 8 // texts that are kept: a model reads a long one in several calls
)

// pdfReader reads one PDF at a time. The library runs as WebAssembly without files,
// network and clock, in an interpreter: a hostile document can do nothing but take its
// time and its memory, and both are bounded. It is made for each document and
// forgotten after it, so that nothing of it stays.
var pdfReader = struct {
	turn chan struct{}
	mu   sync.Mutex
	kept []keptPDF // oldest first
}{turn: make(chan struct{}, 1)}

type keptPDF struct {
	sum  [sha256.Size]byte
	text string
}

// PDFText is the text of a PDF, page by page. It blocks while another document is
// read. Errors: ErrPDFProtected, ErrPDFDamaged, ErrPDFNoText, ErrPDFTooLong, and that
// of the context.
func PDFText(ctx context.Context, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	if text, ok := keptText(sum); ok {
		return text, nil
	}
	select {
	case pdfReader.turn <- struct{}{}:
		defer func() { <-pdfReader.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if text, ok := keptText(sum); ok { // read while we waited
		return text, nil
	}
	limited, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	text, err := readPDF(limited, content)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", ErrPDFTooLong
	case err != nil:
		return "", err
	case text == "":
		return "", ErrPDFNoText
	}
	pdfReader.mu.Lock()
	defer pdfReader.mu.Unlock()
	pdfReader.kept = append(pdfReader.kept, keptPDF{sum, text})
	if len(pdfReader.kept) > pdfKept {
		pdfReader.kept = append([]keptPDF(nil), pdfReader.kept[1:]...)
	}
	return text, nil
}

func keptText(sum [sha256.Size]byte) (string, bool) {
	pdfReader.mu.Lock()
	defer pdfReader.mu.Unlock()
	for _, k := range pdfReader.kept {
		if k.sum == sum {
			return k.text, true
		}
	}
	return "", false
}

func readPDF(ctx context.Context, content []byte) (text string, err error) {
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxTotal: 1, MaxIdle: 1, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
		RuntimeConfig: wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
			WithCloseOnContextDone(true).WithMemoryLimitPages(pdfMemory / wasmPage),
	})
	if err != nil {
		return "", fmt.Errorf("start the reader of PDFs: %w", err)
	}
	defer func() { _ = pool.Close() }() // nothing of it is used again
	lib, err := pool.GetInstance(pdfTime)
	if err != nil {
		return "", fmt.Errorf("start the reader of PDFs: %w", err)
	}
	defer func() {
		if ctx.Err() != nil {
			_ = lib.Kill() // it may hang
			return
		}
		_ = lib.Close()
	}()
	doc, err := lib.OpenDocument(&requests.OpenDocument{File: &content})
	switch {
	case errors.Is(err, pdfium.ErrPassword) || errors.Is(err, pdfium.ErrSecurity):
		return "", ErrPDFProtected
	case err != nil:
		return "", ErrPDFDamaged.Because(err)
	}
	count, err := lib.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return "", ErrPDFDamaged.Because(err)
	}
	var out strings.Builder
	for n := range min(count.PageCount, pdfPages) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		page, err := lib.GetPageText(&requests.GetPageText{Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: n}}})
		if err != nil { // one bad page does not take the others away
			fmt.Fprintf(&out, "[Page %d cannot be read.]\n\n", n+1)
			continue
		}
		if t := tidy(page.Text); t != "" {
			fmt.Fprintf(&out, "[Page %d]\n%s\n\n", n+1, t)
		}
		if out.Len() > pdfChars {
			fmt.Fprintf(&out, "[The rest is left out: %d pages in all.]", count.PageCount)
			break
		}
	}
	return strings.TrimSpace(out.String()), nil
}
