package app_test

import (
	"errors"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/agntchat/agntchat/internal/app"
	"github.com/agntchat/agntchat/internal/config"
	"github.com/agntchat/agntchat/internal/secret"
)

// TestM6_DeployFilesMatchTheBinary parses fly.toml and the Dockerfile against the
// program's own commands, variables and ports.
func TestM6_DeployFilesMatchTheBinary(t *testing.T) {
	t.Parallel()
	var fly struct {
		KillSignal  string `toml:"kill_signal"`
		KillTimeout int    `toml:"kill_timeout"`
		Build       struct{ Dockerfile string }
		Env         map[string]string
		Deploy      struct {
			Strategy       string
			ReleaseCommand string `toml:"release_command"`
		}
		HTTPService struct {
			InternalPort     int    `toml:"internal_port"`
			AutoStopMachines string `toml:"auto_stop_machines"`
			Concurrency      struct {
				Type      string
				SoftLimit int `toml:"soft_limit"`
			}
			Checks []struct{ Path string }
		} `toml:"http_service"`
		Mounts struct {
			Source, Destination string
			InitialSize         string `toml:"initial_size"`
		}
		Metrics struct {
			Port int
			Path string
		}
	}
	b, err := os.ReadFile("../../fly.toml")
	if err != nil {
		t.Fatal(err)
	}
	if err := toml.Unmarshal(b, &fly); err != nil {
		t.Fatal(err)
	}
	docker, err := os.ReadFile("../../" + fly.Build.Dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{}
	for k, v := range fly.Env {
		environ = append(environ, k+"="+v)
	}
	cfg, err := config.Load(environ)
	if err != nil {
		t.Fatalf("the environment of fly.toml: %v", err)
	}
	source, err := os.ReadFile("../config/config.go")
	if err != nil {
		t.Fatal(err)
	}
	for k := range fly.Env {
		if !strings.Contains(string(source), `env:"`+k+`"`) {
			t.Errorf("fly.toml sets %s, which the program does not read", k)
		}
	}
	if cfg.Addr != ":8080" || fly.HTTPService.InternalPort != 8080 || cfg.MetricsAddr != ":9091" || fly.Metrics.Port != 9091 || fly.Metrics.Path != "/metrics" {
		t.Errorf("ports do not match: %s %d %s %d", cfg.Addr, fly.HTTPService.InternalPort, cfg.MetricsAddr, fly.Metrics.Port)
	}
	if fly.KillSignal != "SIGTERM" || float64(fly.KillTimeout) < cfg.DrainTimeout.Seconds()+10 {
		t.Errorf("the drain of %s needs more than kill_timeout %d s", cfg.DrainTimeout, fly.KillTimeout)
	}
	if fly.Deploy.Strategy != "rolling" || fly.HTTPService.AutoStopMachines != "off" || fly.HTTPService.Concurrency.Type != "connections" || fly.HTTPService.Concurrency.SoftLimit < 1000 {
		t.Error("one machine holds all sockets: rolling, never stopped, counted by connections")
	}
	if len(fly.HTTPService.Checks) == 0 || fly.HTTPService.Checks[0].Path != "/readyz" {
		t.Error("traffic must be gated by /readyz")
	}
	// ENTRYPOINT stays, the release command replaces CMD: it must be a command of the program.
	if !regexp.MustCompile(`(?m)^ENTRYPOINT \["/app/agntchat"\]$`).Match(docker) || !regexp.MustCompile(`(?m)^CMD \["serve"\]$`).Match(docker) {
		t.Error("the image runs agntchat serve")
	}
	if !regexp.MustCompile(`(?m)^EXPOSE 8080 9091$`).Match(docker) {
		t.Error("the image's ports are those of fly.toml")
	}
	// Files survive a deploy: their folder is on the volume, and the program takes it before it gives up root.
	image := regexp.MustCompile(`(?m)^ENV (.*)$`).FindSubmatch(docker)
	if image == nil {
		t.Fatal("the image sets no environment")
	}
	inImage, err := config.Load(strings.Fields(string(image[1])))
	if err != nil {
		t.Fatalf("the environment of the image: %v", err)
	}
	if fly.Mounts.Source == "" || fly.Mounts.InitialSize == "" || path.Dir(inImage.FilesDir) != fly.Mounts.Destination || !inImage.RunAs.Given {
		t.Errorf("files in %s, volume at %q, run as %v", inImage.FilesDir, fly.Mounts.Destination, inImage.RunAs)
	}
	var out strings.Builder
	err = app.Main(t.Context(), app.Program{Args: strings.Fields(fly.Deploy.ReleaseCommand), Stdout: &out, Stderr: &out})
	if err == nil || !strings.Contains(err.Error(), "DATABASE_DIRECT_URL") {
		t.Errorf("the release command is one of the program's and asks for the database: %v", err)
	}
}

func TestServeSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := app.Main(t.Context(), app.Program{Args: []string{"serve"}, Stdout: &out, Stderr: &out})
	if err == nil {
		t.Fatal("serve must not start without configuration")
	}
	for _, want := range []string{"DATABASE_URL", "AGNTCHAT_SECRET_KEY", "AGNTCHAT_PUBLIC_URL"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
	broken := []string{ // all of it at once, under the names by which it was given
		"AGNTCHAT_SECRET_KEY=x", "AGNTCHAT_LOG_LEVEL=loud", "AGNTCHAT_SWEEP_INTERVAL=soon", "AGNTCHAT_DB_MAX_CONNS=many", "AGNTCHAT_RELAY_TIMEOUT=never",
	}
	err = app.Main(t.Context(), app.Program{Args: []string{"serve"}, Environ: broken, Stdout: &out, Stderr: &out})
	for _, want := range []string{"DATABASE_URL", "AGNTCHAT_PUBLIC_URL", "AGNTCHAT_LOG_LEVEL", "AGNTCHAT_SWEEP_INTERVAL", "AGNTCHAT_DB_MAX_CONNS", "AGNTCHAT_RELAY_TIMEOUT"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
	whole := func(more ...string) []string {
		return append([]string{"DATABASE_URL=postgres://127.0.0.1:1/x", "AGNTCHAT_SECRET_KEY=" + secret.Generate(), "AGNTCHAT_PUBLIC_URL=https://chat.example.com", "AGNTCHAT_FILES_DIR=" + t.TempDir()}, more...)
	}
	for _, tc := range []struct {
		environ []string
		names   string
	}{
		{whole("DATABASE_URL=nonsense"), "DATABASE_URL"},
		{whole("AGNTCHAT_SECRET_KEY=short"), "AGNTCHAT_SECRET_KEY"},
		{whole("AGNTCHAT_FILES_DIR=/proc/nothing"), "AGNTCHAT_FILES_DIR"},
	} {
		err := app.Main(t.Context(), app.Program{Args: []string{"serve"}, Environ: tc.environ, Stdout: &out, Stderr: &out})
		if err == nil || !strings.Contains(err.Error(), tc.names) {
			t.Errorf("%s is not named in: %v", tc.names, err)
		}
	}
	for _, args := range [][]string{nil, {"fly"}, {"serve", "--nope"}, {"migrate", "sideways"}, {"dev", "extra"}} {
		if err := app.Main(t.Context(), app.Program{Args: args, Stdout: &out, Stderr: &out}); err == nil {
			t.Errorf("%v must be refused", args)
		}
	}
	for args, says := range map[string]string{
		"admin": "new-secret-key", "admin dance": "new-secret-key", "migrate": "up", "migrate sideways": "up", "dev --nope": "agntchat dev: ",
	} {
		var usage *app.UsageError
		if err := app.Main(t.Context(), app.Program{Args: strings.Fields(args), Stdout: &out, Stderr: &out}); !errors.As(err, &usage) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
	for _, args := range []string{"--help", "dev --help", "serve -h", "migrate --help", "relay --help"} {
		out.Reset()
		if err := app.Main(t.Context(), app.Program{Args: strings.Fields(args), Stdout: &out, Stderr: &out}); err != nil || !strings.Contains(out.String(), "agntchat dev [flags]") {
			t.Errorf("%s: %v %s", args, err, out.String())
		}
	}
}
