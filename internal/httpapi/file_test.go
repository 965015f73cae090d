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
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/blob"
	"github.com/agntchat/agntchat/internal/fault"
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

// Who does not know whether a file was posted sends it again under the same key: it is
// posted once, and the bytes that came for nothing are gone.
func TestP8_AKeySharesAFileOnce(t *testing.T) {
	t.Parallel()
	s, files := openFiles(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room, other := s.Room("direct", ada, bot), s.Room("group", ada, bot)
	share := func(room id.Conversation, want int) (wire.Upload, json.RawMessage) {
		up := s.upload(bot, room, "a.txt", "text/plain", []byte("once"))
		return up, s.do(bot, "POST", "/api/conversations/"+room.String()+"/files/confirm", m{"storageKey": up.StorageKey}, want, "Idempotency-Key", "k")
	}
	up, raw := share(room, 201)
	first := as[wire.Message](t, raw)
	spare, raw := share(room, 201)
	if again := as[wire.Message](t, raw); again.ID != first.ID || again.FileAttachments[0].ID != up.StorageKey {
		t.Errorf("shared twice: %+v and %+v", first, again)
	}
	if _, err := files.Blobs.Open(spare.StorageKey); err == nil {
		t.Error("the bytes that no message shows are kept")
	}
	if _, err := files.Blobs.Open(up.StorageKey); err != nil {
		t.Errorf("the shared bytes: %v", err)
	}
	if n := s.Count(`SELECT count(*)::int FROM files`); n != 1 {
		t.Errorf("%d files are known", n)
	}
	if _, raw := share(other, 409); !strings.Contains(string(raw), "key_reused") {
		t.Errorf("a key of another room: %s", raw)
	}
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
		"a changed letter":  {"GET", strings.Replace(url, "signature=", "signature=!", 1)},
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

// An address opens what its holder may open when it is used: who was removed, and an
// agent that was switched off, hold nothing any more.
func TestK3_SignedAddressesEndWithAccess(t *testing.T) {
	t.Parallel()
	s, _ := openFiles(t)
	ada, bob := s.Person("Ada"), s.Person("Bob")
	bot := s.Agent(ada, "Nova")
	room := s.Room("group", ada, bob, bot)
	path := "/api/conversations/" + room.String()
	up := s.upload(ada, room, "a.txt", "text/plain", []byte("secret"))
	s.do(ada, "POST", path+"/files/confirm", m{"storageKey": up.StorageKey}, 201)
	read := func(who access.Actor) string {
		return as[wire.FileDownload](t, s.do(who, "GET", "/api/files/"+up.StorageKey+"/download-url", nil, 200)).URL
	}
	write := func(who access.Actor) string {
		return as[wire.Upload](t, s.do(who, "POST", path+"/upload-url", m{"filename": "b.txt", "contentType": "text/plain", "sizeBytes": 1}, 200)).UploadURL
	}
	gives := func(what, method, url string, want int) {
		t.Helper()
		if got := s.raw(method, url, "text/plain", strings.NewReader("b")); got.Code != want || (want != http.StatusOK && strings.Contains(got.Body.String(), "secret")) {
			t.Errorf("%s: %d %s, want %d", what, got.Code, got.Body, want)
		}
	}
	adaReads, bobReads, botReads, bobWrites, botWrites := read(ada), read(bob), read(bot), write(bob), write(bot)
	gives("Bob reads", "GET", bobReads, http.StatusOK)
	gives("the agent reads", "GET", botReads, http.StatusOK)
	gives("Bob with the name of Ada", "GET", strings.Replace(bobReads, bob.ID.String(), ada.ID.String(), 1), http.StatusForbidden)
	if err := s.Chat.RemoveMember(t.Context(), ada, room, bob.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Exec(t.Context(), `UPDATE participants SET status = 'deactivated' WHERE id = $1`, bot.ID); err != nil {
		t.Fatal(err)
	}
	gives("Bob reads, removed", "GET", bobReads, http.StatusNotFound)
	gives("Bob writes, removed", "PUT", bobWrites, http.StatusNotFound)
	gives("the agent reads, switched off", "GET", botReads, http.StatusNotFound)
	gives("the agent writes, switched off", "PUT", botWrites, http.StatusNotFound)
	gives("Ada reads", "GET", adaReads, http.StatusOK)
}

// One address takes the bytes of one sender at a time.
func TestK3_OneUploadAnAddress(t *testing.T) {
	t.Parallel()
	s, _ := openFiles(t)
	ada := s.Person("Ada")
	room := s.Room("direct", ada, s.Agent(ada, "Nova"))
	up := as[wire.Upload](t, s.do(ada, "POST", "/api/conversations/"+room.String()+"/upload-url", m{"filename": "a.txt", "contentType": "text/plain", "sizeBytes": 5}, 200))
	hold, read := make(chan struct{}), make(chan struct{})
	first := make(chan int)
	go func() { first <- s.raw("PUT", up.UploadURL, "text/plain", &slowBody{hold: hold, read: read}).Code }()
	<-read
	if got := s.raw("PUT", up.UploadURL, "text/plain", strings.NewReader("fives")); got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "upload_under_way") {
		t.Errorf("a second upload meanwhile: %d %s", got.Code, got.Body)
	}
	close(hold)
	if got := <-first; got != http.StatusOK {
		t.Errorf("the first upload: %d", got)
	}
	if got := s.raw("PUT", up.UploadURL, "text/plain", strings.NewReader("fives")); got.Code != http.StatusOK {
		t.Errorf("one after the other: %d %s", got.Code, got.Body)
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

// One message may show several files; each is read, listed and deleted by itself, and
// an agent reads how to get at each (bridge contract 4.8, desktop contract 3.3).
func TestP8_MessagesWithFiles(t *testing.T) {
	t.Parallel()
	s, files := openFiles(t)
	ada, bob := s.Person("Ada"), s.Person("Bob")
	bot := s.Agent(ada, "Nova")
	room := s.Room("group", ada, bot, bob)
	path := "/api/conversations/" + room.String()
	a, b := s.upload(ada, room, "a.png", "image/png", []byte("png")), s.upload(ada, room, "b.pdf", "application/pdf", []byte("pdf!"))
	files2 := func(up ...wire.Upload) (out []m) {
		for _, u := range up {
			out = append(out, m{"storageKey": u.StorageKey, "filename": "x", "contentType": "x/x", "sizeBytes": 1})
		}
		return out
	}
	key := []string{"Idempotency-Key", "k1"}
	msg := as[wire.Message](t, s.do(ada, "POST", path+"/messages", m{"content": "", "attachments": files2(a, b)}, 201, key...))
	if len(msg.FileAttachments) != 2 || msg.FileAttachments[0].Filename != "a.png" || msg.FileAttachments[1].SizeBytes != 4 || msg.ContentType != "text" {
		t.Fatalf("message %+v", msg)
	}
	if strings.Count(msg.ReadableText, "read_attachment") != 2 {
		t.Errorf("a model reads %q", msg.ReadableText)
	}
	if again := as[wire.Message](t, s.do(ada, "POST", path+"/messages", m{"content": "", "attachments": files2(a, b)}, 200, key...)); again.ID != msg.ID || len(again.FileAttachments) != 2 {
		t.Errorf("the same again: %+v", again)
	}
	page := as[wire.Messages](t, s.do(bob, "GET", path+"/messages", nil, 200))
	if len(page.Messages) != 1 || len(page.Messages[0].FileAttachments) != 2 {
		t.Errorf("page %+v", page)
	}
	// What is wrong is told by the place, and nothing is stored.
	other := s.upload(bob, room, "c.txt", "text/plain", []byte("c"))
	waiting := as[wire.Upload](t, s.do(ada, "POST", path+"/upload-url", m{"filename": "d.txt", "contentType": "text/plain", "sizeBytes": 3}, 200))
	fresh := s.upload(ada, room, "e.txt", "text/plain", []byte("e"))
	for name, tc := range map[string]struct {
		list []m
		want int
		code string
	}{
		"somebody else's":  {files2(other), 422, "unknown_attachment"},
		"no key":           {[]m{{"storageKey": "../x"}}, 422, "unknown_attachment"},
		"no bytes":         {files2(fresh, waiting), 409, "not_uploaded"},
		"shared before":    {files2(a), 409, "already_shared"},
		"twice":            {files2(fresh, fresh), 422, "unknown_attachment"},
		"more than a few":  {files2(fresh, fresh, fresh, fresh, fresh, fresh, fresh, fresh, fresh, fresh, fresh), 422, "too_many_attachments"},
		"nothing and none": {nil, 422, "content_empty"},
	} {
		got := string(s.do(ada, "POST", path+"/messages", m{"content": "", "attachments": tc.list}, tc.want))
		if !strings.Contains(got, tc.code) {
			t.Errorf("%s: %s", name, got)
		}
	}
	s.do(ada, "POST", path+"/messages", m{"content": "e", "attachments": files2(fresh)}, 201)

	// Deleting one file leaves the message, the other file, and says so to everybody.
	s.do(bob, "DELETE", "/api/files/"+a.StorageKey, nil, 403)
	s.do(s.Person("Eve"), "DELETE", "/api/files/"+a.StorageKey, nil, 404)
	s.do(ada, "DELETE", "/api/files/"+a.StorageKey, nil, 200)
	s.do(ada, "DELETE", "/api/files/"+a.StorageKey, nil, 404)
	s.do(bob, "GET", "/api/files/"+a.StorageKey+"/download-url", nil, 404)
	s.do(bob, "GET", "/api/files/"+b.StorageKey+"/download-url", nil, 200)
	if _, err := files.Blobs.Open(a.StorageKey); err == nil {
		t.Error("the bytes are still there")
	}
	page = as[wire.Messages](t, s.do(bob, "GET", path+"/messages", nil, 200))
	if got := page.Messages[1].FileAttachments; !got[0].Deleted || got[1].Deleted || !strings.Contains(page.Messages[1].ReadableText, `"a.png" was deleted`) {
		t.Errorf("the message says %+v %q", got, page.Messages[1].ReadableText)
	}
	told := flowtest.EventsOf[flow.MessageUpdated](s.World)
	if len(told) != 1 || told[0].Message.ID.String() != msg.ID || told[0].Seq == 0 {
		t.Errorf("told %+v", told)
	}
	if n := s.Count(`SELECT count(*)::int FROM file_leftovers`); n != 0 {
		t.Errorf("%d bytes wait", n)
	}
	// Who is removed reads nothing any more.
	if err := s.Chat.RemoveMember(t.Context(), ada, room, bob.ID); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path + "/files", "/api/files/" + b.StorageKey + "/download-url"} {
		s.do(bob, "GET", p, nil, 404)
	}
	if got := as[wire.OwnerFiles](t, s.do(bob, "GET", "/api/files", nil, 200)); len(got.Files) != 0 {
		t.Errorf("Bob still lists %+v", got)
	}
}

// A message that is a file keeps its caption when the file is deleted, and existing
// clients hear of its new content under the same id (desktop contract 3.4, 5.3).
func TestP8_ADeletedFileMessageSaysSo(t *testing.T) {
	t.Parallel()
	s, _ := openFiles(t)
	ada := s.Person("Ada")
	bot := s.Agent(ada, "Nova")
	room := s.Room("direct", ada, bot)
	up := s.upload(bot, room, "tides.csv", "text/csv", []byte("a,b"))
	msg := as[wire.Message](t, s.do(bot, "POST", "/api/conversations/"+room.String()+"/files/confirm", m{"storageKey": up.StorageKey, "caption": "The tides"}, 201))
	s.do(ada, "DELETE", "/api/files/"+up.StorageKey, nil, 200) // of her own agent
	got := as[wire.Messages](t, s.do(bot, "GET", "/api/conversations/"+room.String()+"/messages", nil, 200)).Messages[0]
	if got.ID != msg.ID || strings.Contains(got.Content, "attachmentId") || !strings.Contains(got.Content, `"deleted":true`) || !strings.Contains(got.Content, "The tides") || !got.FileAttachments[0].Deleted {
		t.Errorf("message %+v", got)
	}
}

// A forwarded file has bytes of its own, and the same key forwards it once.
func TestP8_ForwardAFile(t *testing.T) {
	t.Parallel()
	s, _ := openFiles(t)
	ada, bob := s.Person("Ada"), s.Person("Bob")
	from, to := s.Room("group", ada, bob), s.Room("group", ada, s.Agent(ada, "Nova"))
	up := s.upload(bob, from, "map.txt", "text/plain", []byte("north"))
	s.do(bob, "POST", "/api/conversations/"+from.String()+"/files/confirm", m{"storageKey": up.StorageKey, "caption": "between us"}, 201)
	path := "/api/files/" + up.StorageKey + "/forward"
	body := m{"conversationId": to.String()}
	s.do(bob, "POST", path, body, 404)                         // he does not sit there
	s.do(s.Person("Eve"), "POST", path, body, 404)             // she cannot read it
	s.do(ada, "POST", path, m{"conversationId": "there"}, 422) // no room
	first := as[wire.Message](t, s.do(ada, "POST", path, body, 201, "Idempotency-Key", "f"))
	if again := as[wire.Message](t, s.do(ada, "POST", path, body, 201, "Idempotency-Key", "f")); again.ID != first.ID {
		t.Errorf("forwarded twice")
	}
	if first.ConversationID != to.String() || *first.SenderID != ada.ID.String() || strings.Contains(first.Content, "between us") || first.FileAttachments[0].ID == up.StorageKey {
		t.Fatalf("forwarded %+v", first)
	}
	s.do(bob, "DELETE", "/api/files/"+up.StorageKey, nil, 200)
	d := as[wire.FileDownload](t, s.do(ada, "GET", "/api/files/"+first.FileAttachments[0].ID+"/download-url", nil, 200))
	if got := s.raw("GET", d.URL, "", nil); got.Code != 200 || got.Body.String() != "north" {
		t.Errorf("the copy: %d %s", got.Code, got.Body)
	}
	mine := as[wire.OwnerFiles](t, s.do(ada, "GET", "/api/files", nil, 200)).Files
	if len(mine) != 1 || mine[0].Conversation == nil || mine[0].Conversation.ID != to.String() || mine[0].Task != nil {
		t.Errorf("own files %+v", mine)
	}
	if len(as[wire.OwnerFiles](t, s.do(bob, "GET", "/api/files", nil, 200)).Files) != 0 {
		t.Error("a deleted file is listed")
	}
}

// A workspace keeps no more than its quota, and a deleted file makes room.
func TestP8_AWorkspaceHasAQuota(t *testing.T) {
	t.Parallel()
	s, files := openFiles(t)
	files.Quota = 10
	ada := s.Person("Ada")
	room := s.Room("direct", ada, s.Agent(ada, "Nova"))
	path := "/api/conversations/" + room.String()
	up := s.upload(ada, room, "a.txt", "text/plain", []byte("sixsix"))
	s.do(ada, "POST", path+"/files/confirm", m{"storageKey": up.StorageKey}, 201)
	if got := string(s.do(ada, "POST", path+"/upload-url", m{"filename": "b", "contentType": "text/plain", "sizeBytes": 5}, 409)); !strings.Contains(got, "storage_full") {
		t.Errorf("refused as %s", got)
	}
	s.do(ada, "DELETE", "/api/files/"+up.StorageKey, nil, 200)
	s.do(ada, "POST", path+"/upload-url", m{"filename": "b", "contentType": "text/plain", "sizeBytes": 5}, 200)
}

// Uploads that begin at the same moment do not all fit into what is left for one.
func TestP8_QuotasHoldAtOnce(t *testing.T) {
	t.Parallel()
	s, files := openFiles(t)
	ada, bob := s.Person("Ada"), s.Person("Bob")
	room := s.Room("group", ada, bob)
	begin := func(who access.Actor, most int, code string) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		begun := 0
		for range most + 15 {
			wg.Go(func() {
				_, err := files.Begin(t.Context(), who, room, flow.NewFile{Filename: "a", ContentType: "text/plain", SizeBytes: 10})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					begun++
				case !fault.Is(err, code):
					t.Errorf("refused as %v", err)
				}
			})
		}
		wg.Wait()
		if begun != most {
			t.Errorf("%d uploads were begun, %d may be: %s", begun, most, code)
		}
	}
	begin(ada, 50, "too_many_uploads")
	files.Quota = 50*10 + 3*10
	begin(bob, 3, "storage_full")
}

// What is shared does not change: an upload that ends after it was shared is refused.
func TestP8_SharedBytesStay(t *testing.T) {
	t.Parallel()
	s, files := openFiles(t)
	ada := s.Person("Ada")
	room := s.Room("direct", ada, s.Agent(ada, "Nova"))
	up := s.upload(ada, room, "a.txt", "text/plain", []byte("first"))
	hold, read := make(chan struct{}), make(chan struct{})
	late := make(chan int)
	go func() { late <- s.raw("PUT", up.UploadURL, "text/plain", &slowBody{hold: hold, read: read}).Code }()
	<-read // the late upload is under way
	s.do(ada, "POST", "/api/conversations/"+room.String()+"/files/confirm", m{"storageKey": up.StorageKey}, 201)
	close(hold)
	if got := <-late; got != http.StatusConflict {
		t.Errorf("the late upload: %d", got)
	}
	f, err := files.Blobs.Open(up.StorageKey)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, _ := io.ReadAll(f); string(got) != "first" {
		t.Errorf("shared as first, now %s", got)
	}
}

// slowBody is five bytes that end when hold is closed.
type slowBody struct {
	hold, read chan struct{}
	sent       bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.sent {
		<-b.hold
		return 0, io.EOF
	}
	b.sent = true
	close(b.read)
	return copy(p, "later"), nil
}
