//go:build !unix

package app

import (
	"errors"

	"github.com/agntchat/agntchat/internal/config"
)

// runAs refuses: only Unix has numbered accounts to become.
func runAs(account config.Account, _ string) error {
	if account.Given {
		return errors.New("AGNTCHAT_RUN_AS is for Unix")
	}
	return nil
}
