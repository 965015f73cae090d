package post

// DecodeEnvelope is decodeEnvelope for the fuzzer.
func DecodeEnvelope(plain []byte) bool {
	e, ok := decodeEnvelope(plain)
	_ = e.Group.usable()
	return ok
}
