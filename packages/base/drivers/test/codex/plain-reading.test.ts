/** Which commands count as a look at the project, and which do not however harmless they seem. */
import { expect, test } from "vitest";
import { plainReading } from "../../src/codex/plain-reading.ts";

const reading = (command: string, cwd = "/p") => plainReading(command, cwd, "/p");

test.each([
  ["cat a.txt", "read"],
  ["cat 'a b.txt'", "read"],
  ["head -n 20 src/a.ts", "read"],
  ["tail -5 src/a.ts", "read"],
  ["sed -n 1,20p a.txt", "read"],
  ["sed -n '1,20p' /p/a.txt", "read"],
  ["ls", "ls"],
  ["ls -la src", "ls"],
  ["rg -n word src", "grep"],
  ["rg --files", "grep"],
  ["grep -rn --include=*.ts 'two words' .", null],
  ["grep -rn '--include=*.ts' 'two words' .", "grep"],
])("%s → %s", (command, is) => {
  expect(reading(command)).toBe(is);
});

test.each([
  [
    "",
    "cat a > b",
    "cat a; rm b",
    "cat a && rm b",
    "cat a | tee b",
    "cat a &",
    "cat $(rm b)",
    "cat `rm b`",
    'cat "$(rm b)"',
  ],
  ["cat a\nrm b", "cat a\\ b", "cat ~/x", "cat *", "FOO=1 cat a", "cat a'$(rm b)'", "{ cat a"],
  [
    "find . -delete",
    "rg --pre rm word",
    "rg --pre=rm word",
    "rg -z word",
    "sed -i 1d a",
    "sed -n 'w b' a",
    "sed -n 1p -i a",
  ],
  [
    "sed -n 1,2p",
    "sed -n '1e rm' a",
    "tail -f a",
    "git status",
    "bash -c ls",
    "/bin/cat a",
    "constructor a",
    "__proto__",
  ],
  ["cat /etc/passwd", "cat ../other", "cat src/../../x", "ls /", "rg word /", "rg -f /etc/passwd"],
])("never %s, %s, %s, …", (...commands) => {
  for (const command of commands) expect([command, reading(command)]).toEqual([command, null]);
});

test("a command that starts outside the project is no look at it", () => {
  expect(reading("ls", "/elsewhere")).toBeNull();
  expect(reading("cat a", "/p/src")).toBe("read");
});
