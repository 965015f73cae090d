/** What a password must be (contract desktop.md 6). The server judges again; this is for saying it while typing. Pure. */

export type PasswordRule = "length" | "lower" | "upper" | "digit" | "common" | "run" | "email";

export interface PasswordVerdict {
  /** Rules that are not met, the first one first. */
  missing: PasswordRule[];
  /** 0 empty, 1 refused, 2 enough, 3 good, 4 strong. */
  score: 0 | 1 | 2 | 3 | 4;
}

const common = new Set(
  (
    "password password1 password12 password123 passw0rd qwerty qwerty1 qwerty12 qwerty123 qwertyuiop 12345678 123456789 1234567890 11111111 00000000 " +
    "iloveyou iloveyou1 sunshine sunshine1 princess princess1 football football1 baseball baseball1 welcome welcome1 welcome123 admin123 administrator " +
    "letmein1 letmein123 trustno1 superman superman1 dragon12 monkey12 abc12345 abcd1234 1q2w3e4r 1qaz2wsx zaq12wsx changeme changeme1 master123 charlie1 michael1"
  ).split(" "),
);

export function checkPassword(password: string, email: string): PasswordVerdict {
  if (password === "") return { missing: ["length", "lower", "upper", "digit"], score: 0 };
  const missing: PasswordRule[] = [];
  if ([...password].length < 8) missing.push("length");
  if (!/\p{Ll}/u.test(password)) missing.push("lower");
  if (!/\p{Lu}/u.test(password)) missing.push("upper");
  if (!/\d/.test(password)) missing.push("digit");
  const lower = password.toLowerCase();
  if (common.has(lower)) missing.push("common");
  if (isRun(lower)) missing.push("run");
  const local = email.split("@")[0]?.toLowerCase() ?? "";
  if (local.length >= 4 && lower.includes(local)) missing.push("email");
  if (missing.length > 0) return { missing, score: 1 };
  const long = [...password].length >= 12;
  const symbol = /[^\p{L}\d]/u.test(password);
  return { missing, score: long && symbol ? 4 : long || symbol ? 3 : 2 };
}

/** One character over and over, or a straight run such as abcdefgh and 87654321. */
function isRun(s: string): boolean {
  if (s.length < 2) return false;
  const step = s.charCodeAt(1) - s.charCodeAt(0);
  if (step < -1 || step > 1) return false;
  for (let i = 2; i < s.length; i++) if (s.charCodeAt(i) - s.charCodeAt(i - 1) !== step) return false;
  return true;
}

export const MIN_AGE = 16;

/** True when somebody born on `birthDate` (YYYY-MM-DD) is at least `MIN_AGE` on `today`. */
export function oldEnough(birthDate: string, today = new Date()): boolean {
  const m = /^(\d{4})-(\d{2})-(\d{2})$/.exec(birthDate);
  if (!m) return false;
  const [y, mo, d] = [Number(m[1]), Number(m[2]), Number(m[3])];
  const date = new Date(Date.UTC(y, mo - 1, d));
  if (date.getUTCMonth() !== mo - 1 || y < 1900) return false;
  const due = new Date(y + MIN_AGE, mo - 1, d);
  return due <= today;
}

export function looksLikeEmail(value: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@]{2,}$|^[^\s@]+@localhost$/.test(value.trim());
}
