package wire

// UploadRequest is the body of POST /api/conversations/:id/upload-url.
type UploadRequest struct {
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	SizeBytes   int64  `json:"sizeBytes"`
}

// Upload says where the bytes go: PUT them to uploadUrl within 15 minutes.
type Upload struct {
	UploadURL  string `json:"uploadUrl"`
	StorageKey string `json:"storageKey"`
}

// FileConfirm is the body of POST /api/conversations/:id/files/confirm.
type FileConfirm struct {
	StorageKey  string `json:"storageKey"`
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	SizeBytes   int64  `json:"sizeBytes"`
	Caption     string `json:"caption,omitempty"`
	DurationMS  int64  `json:"durationMs,omitempty"`
}

// FileDownload answers GET /api/files/:id/download-url (bridge 4.8).
type FileDownload struct {
	URL              string  `json:"url"`
	SizeBytes        int64   `json:"sizeBytes"`
	Filename         string  `json:"filename"`
	ContentType      string  `json:"contentType"`
	ExtractionStatus string  `json:"extractionStatus"` // ready: read_attachment gives its text | unsupported
	SummaryStatus    string  `json:"summaryStatus"`    // none
	Summary          *string `json:"summary"`
}

// FileStored answers the PUT of the bytes.
type FileStored struct {
	StorageKey string `json:"storageKey"`
	SizeBytes  int64  `json:"sizeBytes"`
}

// ConversationFile is one file of a room (desktop 5.11).
type ConversationFile struct {
	ID               string  `json:"id"`
	MessageID        string  `json:"messageId"`
	ConversationID   string  `json:"conversationId"`
	UploadedBy       string  `json:"uploadedBy"`
	Filename         string  `json:"filename"`
	ContentType      string  `json:"contentType"`
	SizeBytes        int64   `json:"sizeBytes"`
	ExtractionStatus string  `json:"extractionStatus"`
	InsertedAt       Time    `json:"insertedAt"`
	Uploader         *Sender `json:"uploader"`
}

// ConversationFiles answers GET /api/conversations/:id/files, newest first.
type ConversationFiles struct {
	Files []ConversationFile `json:"files"`
}

// OwnerFile is a file that somebody or one of their agents has shared (desktop 5.11).
type OwnerFile struct {
	ConversationFile
	Conversation *FileRoom `json:"conversation"`
	Task         *FileTask `json:"task"`
}

// FileRoom is where a file was shared.
type FileRoom struct {
	ID    string  `json:"id"`
	Title *string `json:"title"`
	Type  string  `json:"type"`
}

// FileTask is the task in whose work room a file was shared.
type FileTask struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// OwnerFiles answers GET /api/files, newest first.
type OwnerFiles struct {
	Files []OwnerFile `json:"files"`
}

// FileForward is the body of POST /api/files/:id/forward.
type FileForward struct {
	ConversationID string `json:"conversationId"`
}
