package httpapi_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/blob"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/httpapi"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/wire"
)

func openFiles(t *testing.T) (*rest, *flow.Files) {
	t.Helper()
	w, log := flowtest.New(t), slog.New(slog.DiscardHandler)
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	files := &flow.Files{DB: w.DB, Chat: w.Chat, Blobs: blob.Store{Dir: t.TempDir()}, Log: log}
	f := httpapi.File{Files: files, Keys: [][]byte{key}, Log: log}
	r := chi.NewRouter()
	r.Route("/api", func(r chi.Router) {
		f.MountOpen(r)
		f.Mount(r)
		httpapi.Message{Chat: w.Chat, Log: log}.Mount(r)
	})
	return &rest{World: w, t: t, h: r}, files
}

// raw makes a request without a token and gives what came.
func (s *rest) raw(method, url, contentType string, body io.Reader) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, url, body)
	r.Header.Set("Content-Type", contentType)
	rec := httptest.NewRecorder()
	s.h.ServeHTTP(rec, r)
	return rec
}

func (s *rest) upload(who access.Actor, room id.Conversation, name, contentType string, content []byte) wire.Upload {
	s.t.Helper()
	up := as[wire.Upload](s.t, s.do(who, "POST", "/api/conversations/"+room.String()+"/upload-url", m{"filename": name, "contentType": contentType, "sizeBytes": len(content)}, 200))
	if got := s.raw("PUT", up.UploadURL, contentType, bytes.NewReader(content)); got.Code != http.StatusOK {
		s.t.Fatalf("upload: %d %s", got.Code, got.Body)
	}
	return up
}

// A file goes the way of bridge contract 3.3 and is read as 4.8 says.
func TestK3_ShareAFile(t *testing.T) {
	t.Parallel()
	s, _ := openFiles(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	up := s.upload(bot, room, `..\..\etc/tides 2026.csv`, "text/csv", []byte("a,b\n1,2\n"))
	confirm := m{"storageKey": up.StorageKey, "filename": "x", "contentType": "text/csv", "sizeBytes": 8, "caption": "The tides"}
	path := "/api/conversations/" + room.String() + "/files"
	msg := as[wire.Message](t, s.do(bot, "POST", path+"/confirm", confirm, 201))
	if msg.ContentType != "file" || len(msg.FileAttachments) != 1 || msg.FileAttachments[0].Filename != "tides 2026.csv" || !strings.Contains(msg.ReadableText, "read_attachment") {
		t.Fatalf("message %+v", msg)
	}
	var content struct{ AttachmentID, Filename, ContentType, Caption string }
	if err := json.Unmarshal([]byte(msg.Content), &content); err != nil || content.Caption != "The tides" || content.AttachmentID != msg.FileAttachments[0].ID || content.ContentType != "text/csv" {
		t.Fatalf("content %s", msg.Content)
	}
	if again := as[wire.Message](t, s.do(bot, "POST", path+"/confirm", confirm, 201)); again.ID != msg.ID {
		t.Errorf("confirmed twice: %s and %s", msg.ID, again.ID)
	}
	d := as[wire.FileDownload](t, s.do(ada, "GET", "/api/files/"+content.AttachmentID+"/download-url", nil, 200))
	got := s.raw("GET", d.URL, "", nil)
	if got.Code != 200 || got.Body.String() != "a,b\n1,2\n" || d.SizeBytes != 8 || d.ExtractionStatus != "ready" {
		t.Fatalf("download %+v: %d %s", d, got.Code, got.Body)
	}
	for h, want := range map[string]string{"Content-Type": "text/csv", "Content-Disposition": `attachment; filename="tides 2026.csv"`, "X-Content-Type-Options": "nosniff"} {
		if got.Header().Get(h) != want {
			t.Errorf("%s: %q, want %q", h, got.Header().Get(h), want)
		}
	}
	if l := as[wire.ConversationFiles](t, s.do(ada, "GET", path, nil, 200)); len(l.Files) != 1 || l.Files[0].ID != content.AttachmentID || l.Files[0].Uploader.DisplayName != "Nova" {
		t.Errorf("files %+v", l)
	}
	s.do(s.Person("Eve"), "GET", "/api/files/"+content.AttachmentID+"/download-url", nil, 404)
}

func TestK3_SignedAddresses(t *testing.T) {
	t.Parallel()
	s, _ := openFiles(t)
	ada := s.Person("Ada")
	room := s.Room("direct", ada, s.Agent(ada, "Nova"))
	up := s.upload(ada, room, "a.html", "text/html", []byte("<b>hi</b>"))
	msg := as[wire.Message](t, s.do(ada, "POST", "/api/conversations/"+room.String()+"/files/confirm", m{"storageKey": up.StorageKey}, 201))
	url := as[wire.FileDownload](t, s.do(ada, "GET", "/api/files/"+msg.FileAttachments[0].ID+"/download-url", nil, 200)).URL
	if got := s.raw("GET", url, "", nil); got.Code != 200 || !strings.HasPrefix(got.Header().Get("Content-Disposition"), "attachment") || !strings.Contains(got.Header().Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("a page of a stranger: %d %v", got.Code, got.Header())
	}
	other := s.upload(ada, room, "b.txt", "text/plain", []byte("b"))
	for name, tc := range map[string]struct{ method, url string }{
		"another file":      {"GET", strings.Replace(url, msg.FileAttachments[0].ID, other.StorageKey, 1)},
		"another method":    {"PUT", url},
		"upload read":       {"GET", up.UploadURL},
		"a later end":       {"GET", strings.Replace(url, "until=1", "until=9", 1)},
		"a changed letter":  {"GET", url[:len(url)-1] + "!"},
		"nothing signed":    {"GET", url[:strings.Index(url, "?")]},
		"an end long past":  {"GET", strings.Replace(url, "until=1", "until=", 1)},
		"an upload again":   {"PUT", up.UploadURL},
		"a file not shared": {"GET", other.UploadURL},
	} {
		if got := s.raw(tc.method, tc.url, "text/plain", strings.NewReader("x")); got.Code < 400 || got.Code >= 500 {
			t.Errorf("%s: %d", name, got.Code)
		}
	}
}

func TestK3_UploadsAreBounded(t *testing.T) {
	t.Parallel()
	s, files := openFiles(t)
	ada, bob := s.Person("Ada"), s.Person("Bob")
	bot := s.Agent(ada, "Nova")
	room := s.Room("group", ada, bot, bob)
	path := "/api/conversations/" + room.String()
	ask := func(body m, want int) json.RawMessage { return s.do(ada, "POST", path+"/upload-url", body, want) }
	ask(m{"filename": "a", "contentType": "text/plain", "sizeBytes": 0}, 422)
	ask(m{"filename": "a", "contentType": "text/plain", "sizeBytes": 25<<20 + 1}, 422)
	ask(m{"filename": "../", "contentType": "text/plain", "sizeBytes": 5}, 422)
	s.do(s.Person("Eve"), "POST", path+"/upload-url", m{"filename": "a", "contentType": "text/plain", "sizeBytes": 5}, 404)
	up := as[wire.Upload](t, ask(m{"filename": "a.txt", "contentType": "text/plain", "sizeBytes": 5}, 200))
	for _, body := range []string{"four", "sixsix"} {
		if got := s.raw("PUT", up.UploadURL, "text/plain", strings.NewReader(body)); got.Code != 422 {
			t.Errorf("%d bytes of 5: %d", len(body), got.Code)
		}
	}
	s.do(ada, "POST", path+"/files/confirm", m{"storageKey": up.StorageKey}, 409) // nothing arrived
	if got := s.raw("PUT", up.UploadURL, "text/plain", strings.NewReader("fives")); got.Code != 200 {
		t.Fatalf("upload: %d %s", got.Code, got.Body)
	}
	s.do(bob, "POST", path+"/files/confirm", m{"storageKey": up.StorageKey}, 404) // not his
	msg := as[wire.Message](t, s.do(ada, "POST", path+"/files/confirm", m{"storageKey": up.StorageKey}, 201))

	// A deleted message takes its file with it, and the bytes.
	s.do(ada, "DELETE", path+"/messages/"+msg.ID, nil, 200)
	s.do(ada, "GET", "/api/files/"+up.StorageKey+"/download-url", nil, 404)
	if err := files.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Blobs.Open(up.StorageKey); err == nil {
		t.Error("the bytes are still there")
	}
	if n := s.Count(`SELECT (SELECT count(*) FROM files)::int + (SELECT count(*) FROM file_leftovers)::int`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	for range 50 {
		ask(m{"filename": "a.txt", "contentType": "text/plain", "sizeBytes": 5}, 200)
	}
	ask(m{"filename": "a.txt", "contentType": "text/plain", "sizeBytes": 5}, 429)
}
