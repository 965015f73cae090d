package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// capabilityShare tells the server that this bridge carries out share_file.
const capabilityShare = "share_file"

// maxShared is the largest file that may be shared, in bytes (contract 5.3).
const maxShared = 25 << 20

// uploadTime bounds the sending of one file.
const uploadTime = 5 * time.Minute

// workFolder is where the agent's CLI works; nothing outside of it is ever shared.
func (a *Agent) workFolder() string { return filepath.Join(a.opt.Dir, "work") }

// shareFile is share_file (contract 5.3): the server says whether the file may go to
// the room on behalf of whom the turn runs, then it is sent and posted there.
func (b *toolbox) shareFile(ctx context.Context, in map[string]any) backend.ToolResult {
	path, _ := in["path"].(string)
	name, content, err := readShared(b.agent.workFolder(), path)
	if err != nil {
		return toolError(err.Error())
	}
	if other, _ := in["filename"].(string); strings.TrimSpace(other) != "" {
		name = cleanName(other)
	}
	in["size_bytes"] = len(content)
	checked, result := b.dispatch(ctx, "share_file", in, nil)
	if result.IsError {
		return result
	}
	var to struct {
		ConversationID string `json:"conversation_id"`
	}
	if json.Unmarshal([]byte(checked), &to) != nil || to.ConversationID == "" {
		return toolError("The server does not say where the file may go.")
	}
	caption, _ := in["caption"].(string)
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = http.DetectContentType(content)
	}
	// A file that is shared again because the answer was lost, or because the turn runs
	// again, is posted once.
	key := onceKey(b.item.ID, to.ConversationID, name, caption, string(content))
	out, err := b.agent.upload(ctx, to.ConversationID, key, name, kind, caption, content)
	if err != nil {
		if ctx.Err() != nil {
			return toolError("The file was not sent in time.")
		}
		if errors.Is(err, errUnknown) {
			return toolError(errUnknown.Error())
		}
		return toolError("The file was not shared: " + err.Error())
	}
	raw, _ := json.Marshal(out)
	return backend.ToolResult{Text: string(raw)}
}

type shared struct {
	Status    string `json:"status"`
	MessageID string `json:"messageId"`
	FileID    string `json:"fileId,omitempty"`
	Filename  string `json:"filename"`
	SizeBytes int    `json:"sizeBytes"`
}

// upload sends a file to a room in the three steps of the contract (3.3). key names
// the message: the same key gives the first one again.
func (a *Agent) upload(ctx context.Context, room, key, name, kind, caption string, content []byte) (shared, error) {
	base := "/api/conversations/" + url.PathEscape(room)
	var slot struct {
		UploadURL  string `json:"uploadUrl"`
		StorageKey string `json:"storageKey"`
	}
	about := map[string]any{"filename": name, "contentType": kind, "sizeBytes": len(content)}
	if err := a.api.call(ctx, "POST", base+"/upload-url", about, &slot); err != nil {
		return shared{}, err
	}
	if err := a.put(ctx, slot.UploadURL, kind, content); err != nil {
		return shared{}, err
	}
	about["storageKey"] = slot.StorageKey
	if caption != "" {
		about["caption"] = caption
	}
	var m struct {
		ID              string `json:"id"`
		FileAttachments []struct {
			ID string `json:"id"`
		} `json:"fileAttachments"`
	}
	if err := a.api.callHeader(ctx, "POST", base+"/files/confirm", map[string]string{"Idempotency-Key": key}, about, &m); err != nil {
		if _, answered := errors.AsType[*StatusError](err); !answered {
			return shared{}, errUnknown
		}
		return shared{}, err
	}
	out := shared{Status: "shared", MessageID: m.ID, Filename: name, SizeBytes: len(content)}
	if len(m.FileAttachments) > 0 {
		out.FileID = m.FileAttachments[0].ID
	}
	return out, nil
}

// put sends bytes to a signed address: no token goes with them, and the address stands
// in no error.
func (a *Agent) put(ctx context.Context, to, kind string, content []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to, bytes.NewReader(content))
	if err != nil {
		return errors.New("the server gave no address to send it to")
	}
	req.Header.Set("Content-Type", kind)
	res, err := a.http().Do(req)
	if err != nil {
		return fmt.Errorf("send file: %w", hideURL(err))
	}
	defer func() { _ = res.Body.Close() }()
	raw, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated {
		return statusError(res, raw)
	}
	return nil
}

// readShared reads a regular file below the working folder. The folder is a root:
// no "..", no absolute path and no symbolic link leads out of it; what is no
// file is never opened for reading, so that a pipe or a device cannot hold the turn.
func readShared(work, path string) (name string, content []byte, err error) {
	if strings.TrimSpace(path) == "" {
		return "", nil, errors.New("path is empty")
	}
	rel := filepath.Clean(path)
	if filepath.IsAbs(rel) {
		if rel, err = below(work, rel); err != nil {
			return "", nil, errOutside
		}
	}
	if !filepath.IsLocal(rel) {
		return "", nil, errOutside
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return "", nil, errors.New("there is no such file in your working folder")
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, errors.New("there is no such file in your working folder")
	case errors.Is(err, fs.ErrPermission):
		return "", nil, errors.New("the file cannot be read")
	case err != nil: // os.Root says in words of its own that a path leads out
		return "", nil, errOutside
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	switch {
	case err != nil:
		return "", nil, errors.New("the file cannot be read")
	case !st.Mode().IsRegular():
		return "", nil, errors.New("this is not a file: folders, links, pipes and devices are not shared")
	case st.Size() > maxShared:
		return "", nil, errTooLarge
	}
	content, err = io.ReadAll(io.LimitReader(f, maxShared+1))
	switch {
	case err != nil:
		return "", nil, errors.New("the file cannot be read")
	case len(content) > maxShared:
		return "", nil, errTooLarge
	case len(content) == 0:
		return "", nil, errors.New("the file is empty")
	}
	return cleanName(filepath.Base(rel)), content, nil
}

// errUnknown tells the model that calling again is safe.
var errUnknown = errors.New("the answer of the server was lost: make the same call again, the file is posted once")

var (
	errOutside  = errors.New("only files in your working folder can be shared")
	errTooLarge = errors.New("the file is larger than 25 MiB")
)

// below is an absolute path as one below the folder, whichever of its two names the
// caller uses: a folder above may be a link.
func below(work, path string) (string, error) {
	rel, err := filepath.Rel(work, path)
	if err == nil && filepath.IsLocal(rel) {
		return rel, nil
	}
	real, err := filepath.EvalSymlinks(work)
	if err != nil {
		return "", err
	}
	return filepath.Rel(real, path)
}

// cleanName makes a name of what a model calls a file: no folders, no line breaks.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '/' || r == '\\' || r == utf8.RuneError {
			return -1
		}
		return r
	}, strings.TrimSpace(name))
	if name = cut(name, 200); name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}
