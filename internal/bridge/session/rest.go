package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// StatusError is an HTTP answer of 400 or more. Code is the server's stable
// error code where it gave one.
type StatusError struct {
	Status     int
	Code       string
	Message    string
	Body       []byte
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("HTTP %d %s: %s", e.Status, e.Code, e.Message)
	}
	return fmt.Sprintf("HTTP %d: %s", e.Status, e.Message)
}

// statusError reads both error forms of the contract: an object with code and
// message, or a bare text.
func statusError(res *http.Response, raw []byte) *StatusError {
	e := &StatusError{Status: res.StatusCode, Body: raw, Message: http.StatusText(res.StatusCode)}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = min(time.Duration(n)*time.Second, time.Minute)
	}
	var out struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &out) != nil || out.Error == nil {
		return e
	}
	var obj struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(out.Error, &obj) == nil {
		e.Code, e.Message = obj.Code, obj.Message
		return e
	}
	var text string
	if json.Unmarshal(out.Error, &text) == nil {
		e.Code, e.Message = text, text
	}
	return e
}

// api is the REST client. Every call blocks at most the given time-out, renews
// the token once on 401, and returns *StatusError for answers of 400 and more.
type api struct {
	base    string
	http    *http.Client
	tokens  *tokenSource
	version string
	timeout time.Duration
}

func (a *api) call(ctx context.Context, method, path string, in, out any) error {
	return a.callHeader(ctx, method, path, nil, in, out)
}

func (a *api) callHeader(ctx context.Context, method, path string, header map[string]string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("encode %s %s: %w", method, path, err)
		}
	}
	token, err := a.tokens.get(ctx)
	if err != nil {
		return err
	}
	raw, err := a.once(ctx, method, path, token, header, body)
	if e, ok := errors.AsType[*StatusError](err); ok && e.Status == http.StatusUnauthorized {
		a.tokens.drop(token)
		if token, err = a.tokens.get(ctx); err != nil {
			return err
		}
		raw, err = a.once(ctx, method, path, token, header, body)
	}
	if err != nil {
		return err
	}
	if out == nil || len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("decode answer of %s %s: %w", method, path, err)
	}
	return nil
}

func (a *api) once(ctx context.Context, method, path, token string, header map[string]string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "agnt/"+a.version)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode >= 400 {
		return nil, statusError(res, raw)
	}
	return raw, nil
}

func isStatus(err error, status int, code string) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Status == status && (code == "" || e.Code == code)
}

// isLost says that the server refused a write because the claim belongs to
// somebody else now, or to nobody.
func isLost(err error) bool { return isStatus(err, http.StatusForbidden, "executor_not_owned") }
