package document_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/document"
)

// TestK3_PDFsAreMadeSideBySide: documents that are made at the same time are what each
// would be alone; they share the fonts, and cutting a font writes into it.
func TestK3_PDFsAreMadeSideBySide(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	texts := []string{sample, "# Ships\n\nA *slow* boat, `fast` tides.", "潮汐 und Gezeiten: äöü ß", "1 2 3"}
	alone := make([][]byte, len(texts))
	for i, text := range texts {
		var err error
		if alone[i], err = document.PDF("T", text, at); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for round := range 3 {
		for i, text := range texts {
			wg.Go(func() {
				if got, err := document.PDF("T", text, at); err != nil || !bytes.Equal(got, alone[i]) {
					t.Errorf("round %d, text %d: another document, %v", round, i, err)
				}
			})
		}
	}
	wg.Wait()
}
