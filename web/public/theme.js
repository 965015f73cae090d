// Runs before the first paint so that a dark page never flashes white. A file of its own, because the
// content security policy allows no inline script.
(() => {
  let choice = 'system';
  try {
    choice = localStorage.getItem('agntchat.theme') || 'system';
  } catch {
    // Storage may be blocked; the system's choice is a fine answer.
  }
  const dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
