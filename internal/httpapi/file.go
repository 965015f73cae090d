package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/file"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// File is files in rooms (bridge 3.3, 4.8; desktop 4.6).
type File struct {
	Files *flow.Files
	// Keys sign addresses, the first one; all are believed.
	Keys [][]byte
	// PublicURL is how people reach this server; addresses begin with it when it is
	// https, else with the host that the request names.
	PublicURL string
	Log       *slog.Logger
}

// addressLife is how long a signed address works.
const addressLife = 15 * time.Minute

// Mount mounts what members of rooms call.
func (f File) Mount(r chi.Router) {
	h := func(g httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(f.Log, g) }
	r.Post("/conversations/{conversation}/upload-url", h(f.uploadURL))
	r.Post("/conversations/{conversation}/files/confirm", h(f.confirm))
	r.Get("/conversations/{conversation}/files", h(f.list))
	r.Get("/files", h(f.mine))
	r.Get("/files/{file}/download-url", h(f.downloadURL))
	r.Post("/files/{file}/forward", h(f.forward))
	r.Delete("/files/{file}", h(f.remove))
}

// MountOpen mounts the signed addresses: whoever has one may use it, without a
// token, for bytes are sent and fetched by programs that have none (bridge 3.3, 4.8).
// It opens what the participant to whom it was given may open when it is used.
func (f File) MountOpen(r chi.Router) {
	r.Put("/files/{file}/content", httpx.Wrap(f.Log, f.put))
	r.Get("/files/{file}/content", httpx.Wrap(f.Log, f.content))
}

func fileID(r *http.Request) (id.File, error) {
	return pathID[id.File](r, "file")
}

func (f File) uploadURL(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.UploadRequest
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	row, err := f.Files.Begin(r.Context(), httpx.Actor(r.Context()), conv, flow.NewFile{Filename: in.Filename, ContentType: in.ContentType, SizeBytes: in.SizeBytes})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Upload{UploadURL: f.signed(r, http.MethodPut, row.UploadedBy, row.ID), StorageKey: row.ID.String()})
}

func (f File) put(w http.ResponseWriter, r *http.Request) error {
	holder, fid, err := f.checked(r, http.MethodPut)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(addressLife)) // a slow line; the server's own limit is for small bodies
	if err := f.Files.Receive(r.Context(), holder, fid, http.MaxBytesReader(w, r.Body, file.MaxBytes+1)); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.FileStored{StorageKey: fid.String(), SizeBytes: max(r.ContentLength, 0)})
}

// confirm answers 201 with the message; the same Idempotency-Key gives it again, also
// for bytes that were sent a second time.
func (f File) confirm(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.FileConfirm
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	fid, err := id.Parse[id.File](in.StorageKey)
	if err != nil {
		return fault.ErrNotFound
	}
	m, err := f.Files.Confirm(r.Context(), httpx.Actor(r.Context()), conv, flow.Shared{ID: fid, Caption: in.Caption, DurationMS: in.DurationMS, Key: r.Header.Get("Idempotency-Key")})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, present.Message(m))
}

func (f File) list(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	before, err := queryTime(r, "before")
	if err != nil {
		return err
	}
	page, err := f.Files.List(r.Context(), httpx.Actor(r.Context()), conv, before, httpx.Limit(r, maxPage, maxPage))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.ConversationFiles(page))
}

func (f File) mine(w http.ResponseWriter, r *http.Request) error {
	before, err := queryTime(r, "before")
	if err != nil {
		return err
	}
	page, err := f.Files.Mine(r.Context(), httpx.Actor(r.Context()), before, httpx.Limit(r, maxPage, maxPage))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.OwnFiles(page))
}

// forward answers 201 with the new message; the same Idempotency-Key gives it again.
func (f File) forward(w http.ResponseWriter, r *http.Request) error {
	fid, err := fileID(r)
	if err != nil {
		return err
	}
	var in wire.FileForward
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	to, err := id.Parse[id.Conversation](in.ConversationID)
	if err != nil {
		return fault.New(fault.Invalid, "invalid", "Name the conversation to forward to.").With("conversationId", "format", err.Error())
	}
	m, err := f.Files.Forward(r.Context(), httpx.Actor(r.Context()), fid, to, r.Header.Get("Idempotency-Key"))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, present.Message(m))
}

func (f File) remove(w http.ResponseWriter, r *http.Request) error {
	fid, err := fileID(r)
	if err != nil {
		return err
	}
	if err := f.Files.Delete(r.Context(), httpx.Actor(r.Context()), fid); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (f File) downloadURL(w http.ResponseWriter, r *http.Request) error {
	fid, err := fileID(r)
	if err != nil {
		return err
	}
	row, err := f.Files.Get(r.Context(), httpx.Actor(r.Context()), fid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.FileDownload{
		URL: f.signed(r, http.MethodGet, httpx.Actor(r.Context()).ID, fid), SizeBytes: row.SizeBytes, Filename: row.Filename, ContentType: row.ContentType,
		ExtractionStatus: present.Extraction(row.ContentType), SummaryStatus: "none",
	})
}

// content serves the bytes. What a browser would run is only ever downloaded, and
// everything is served without rights.
func (f File) content(w http.ResponseWriter, r *http.Request) error {
	holder, fid, err := f.checked(r, http.MethodGet)
	if err != nil {
		return err
	}
	row, content, err := f.Files.Open(r.Context(), holder, fid)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	how := "attachment"
	if shownInline(row.ContentType) {
		how = "inline"
	}
	h := w.Header()
	h.Set("Content-Type", row.ContentType)
	if d := mime.FormatMediaType(how, map[string]string{"filename": row.Filename}); d != "" {
		h.Set("Content-Disposition", d)
	} else {
		h.Set("Content-Disposition", how)
	}
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; media-src 'self'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=900")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(addressLife)) // only where the server has one
	http.ServeContent(w, r, "", row.InsertedAt, content)
	return nil
}

// shownInline are the types that browsers show without running anything.
func shownInline(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "application/pdf", "text/plain":
		return true
	default:
		return strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
	}
}

func (f File) signed(r *http.Request, method string, holder id.Participant, fid id.File) string {
	base := f.PublicURL
	if !strings.HasPrefix(base, "https://") {
		base = "http://" + r.Host
	}
	until := strconv.FormatInt(time.Now().Add(addressLife).Unix(), 10)
	q := url.Values{"holder": {holder.String()}, "until": {until}, "signature": {signature(f.Keys[0], method, holder, fid, until)}}
	return base + "/api/files/" + fid.String() + "/content?" + q.Encode()
}

func signature(key []byte, method string, holder id.Participant, fid id.File, until string) string {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(method + " " + fid.String() + " " + holder.String() + " " + until)) // a hash never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// checked is the file of a signed address and who holds it. A wrong and an old one
// look alike.
func (f File) checked(r *http.Request, method string) (access.Actor, id.File, error) {
	fid, err := fileID(r)
	if err != nil {
		return access.Actor{}, fid, err
	}
	q := r.URL.Query()
	until, got := q.Get("until"), q.Get("signature")
	at, err := strconv.ParseInt(until, 10, 64)
	if err != nil || time.Now().Unix() > at {
		return access.Actor{}, fid, errAddress
	}
	who, err := id.Parse[id.Participant](q.Get("holder"))
	if err != nil {
		return access.Actor{}, fid, errAddress
	}
	for _, k := range f.Keys {
		if hmac.Equal([]byte(got), []byte(signature(k, method, who, fid, until))) {
			holder, err := f.Files.Holder(r.Context(), who)
			return holder, fid, err
		}
	}
	return access.Actor{}, fid, errAddress
}

var errAddress = fault.New(fault.Forbidden, "address_expired", "This address does not work any more: ask for a new one.")
